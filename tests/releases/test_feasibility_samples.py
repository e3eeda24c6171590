"""Feasibility over samples: the samples, and means and deviations against cell-by-cell measurement."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.kernel import Classes, Mask
from discreet.releases.feasibility import feasibility
from discreet.releases.feasibility_samples import feasibility_samples, uniform_samples

RNG = np.random.default_rng(4)
POPULATION = Classes.of(
    ["zip"], [(f"{code:03d}",) for code in range(120)], RNG.integers(1, 400, 120).tolist(), rules={"zip": Mask(3)}
)


def test_samples_are_drawn_without_replacement() -> None:
    samples = list(uniform_samples(POPULATION, 20, 0.1, np.random.default_rng(1)))
    assert {sample.records for sample in samples} == {round(0.1 * POPULATION.records)}
    for sample in samples:
        assert (sample.sizes <= sample.link(POPULATION)).all()
    everybody = next(iter(uniform_samples(POPULATION, 1, 1.0, np.random.default_rng(1))))
    assert everybody.sizes.tolist() == POPULATION.sizes.tolist()


def test_means_and_deviations_are_those_of_the_samples() -> None:
    found = feasibility_samples(
        POPULATION, samples=4, fraction=0.1, rng=np.random.default_rng(1), ks=[5], suppressions=[0.1]
    )
    each = [
        feasibility(sample, POPULATION, k=5, suppression=0.1)
        for sample in uniform_samples(POPULATION, 4, 0.1, np.random.default_rng(1))
    ]
    figures = found.at(5, 0.1).figures
    assert found.at(5, 0.1).feasible == 4
    for name, figure in figures.items():
        values = [float(getattr(one, name)) for one in each]
        assert (figure.mean, figure.sd) == (
            pytest.approx(statistics.mean(values)),
            pytest.approx(statistics.stdev(values)),
        )
    assert figures["classes"].mean > 0


@pytest.mark.parametrize(("samples", "fraction"), [(1, 0.1), (3, 0.0), (3, 1.5)])
def test_what_is_no_sample_is_said(samples: int, fraction: float) -> None:
    with pytest.raises(UsageError):
        feasibility_samples(POPULATION, samples=samples, fraction=fraction, rng=np.random.default_rng(1))
