"""How many people of a population are unique, judged from the class sizes of a sample alone.

Three models, and the rule of Dankar, El Emam, Neisa & Roffey 2012 (BMC Med Inform Decis Mak 12:66) that
chooses among them. Throughout, u classes were sampled, n_j of them of size j; n people out of N; π = n / N.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from discreet.risk.pitman import pitman_uniques
from discreet.risk.sample import Sample, Sizes, observe
from discreet.risk.snb import snb_uniques
from discreet.risk.zayatz import zayatz_uniques

__all__ = ["PopulationUniqueness", "dankar", "estimate", "pitman", "snb", "zayatz"]

_SMALL_SAMPLE = 0.1  # Dankar et al. 2012: up to this sampling fraction Pitman's model is the most accurate


@dataclass(frozen=True)
class PopulationUniqueness:
    """The share of a population that is unique: by each model, and by the rule that chooses one of them.

    >>> found = PopulationUniqueness(1000, 0.05, zayatz=0.2, pitman=0.1, snb=None, dankar=0.1, model="pitman")
    >>> found.to_dict()["dankar"]
    0.1
    """

    population: int
    sampling_fraction: float
    zayatz: float
    pitman: float | None
    snb: float | None
    dankar: float
    model: str

    def to_dict(self) -> dict[str, Any]:
        """The same in plain values, for JSON."""
        return asdict(self)


def estimate(sizes: Sizes, population: int) -> PopulationUniqueness:
    """Estimate the share of a population that is unique, by every model, from the class sizes of a sample.

    >>> import numpy as np
    >>> found = estimate(np.repeat([1, 2, 3, 10], [600, 150, 60, 12]), 20_000)
    >>> found.model, round(found.dankar, 3), round(found.zayatz, 3)
    ('pitman', 0.108, 0.27)
    """
    sample = observe(sizes, population)
    by_zayatz, by_pitman, by_snb = zayatz_uniques(sample), pitman_uniques(sample), snb_uniques(sample)
    model, chosen = _choose(sample, by_zayatz, by_pitman, by_snb)
    return PopulationUniqueness(
        population=population,
        sampling_fraction=sample.fraction,
        zayatz=_share(by_zayatz, population),
        pitman=None if by_pitman is None else _share(by_pitman, population),
        snb=None if by_snb is None else _share(by_snb, population),
        dankar=_share(chosen, population),
        model=model,
    )


def zayatz(sizes: Sizes, population: int) -> float:
    """The number of population uniques if the population's class sizes are spread like the sample's.

    >>> import numpy as np
    >>> round(zayatz(np.array([1, 1, 1, 2, 5]), 100), 1)
    11.0
    """
    return zayatz_uniques(observe(sizes, population))


def pitman(sizes: Sizes, population: int) -> float | None:
    """The number of population uniques if classes appear as in Pitman's sampling formula; None without a fit.

    >>> import numpy as np
    >>> round(pitman(np.repeat([1, 2, 3, 10], [600, 150, 60, 12]), 20_000))
    2165
    """
    return pitman_uniques(observe(sizes, population))


def snb(sizes: Sizes, population: int) -> float | None:
    """The number of population uniques if class sizes less one are negative binomial; None without a fit.

    >>> import numpy as np
    >>> round(snb(np.repeat([1, 2, 3, 10], [600, 150, 60, 12]), 4_000))
    1043
    """
    return snb_uniques(observe(sizes, population))


def dankar(sizes: Sizes, population: int) -> float:
    """The number of population uniques by the model that suits the sampling fraction.

    >>> import numpy as np
    >>> dankar(np.array([2, 2, 3]), 100)
    0.0
    """
    sample = observe(sizes, population)
    return _choose(sample, zayatz_uniques(sample), pitman_uniques(sample), snb_uniques(sample))[1]


def _choose(sample: Sample, zayatz: float, pitman: float | None, snb: float | None) -> tuple[str, float]:
    """The model that the decision rule of Dankar et al. 2012 trusts, and its estimate."""
    if sample.ones == 0:
        return "none", 0.0
    if sample.fraction <= _SMALL_SAMPLE:
        return ("zayatz", zayatz) if pitman is None else ("pitman", pitman)
    return ("zayatz", zayatz) if snb is None or snb >= zayatz else ("snb", snb)


def _share(people: float, population: int) -> float:
    return min(1.0, max(0.0, people / population))
