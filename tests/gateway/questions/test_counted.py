"""What is counted is what a direct question counts: without noise and bounds on rows, both are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.gateway import parse_upstream
from discreet.gateway.statistics.noise import StickyNoise
from discreet.policy import Policy
from tests.gateway.governed import Guarding
from tests.gateway.questions.study import POLICY, USERS, furnish

pytestmark = pytest.mark.postgres
PV = "study.patients p JOIN study.visits v ON v.patient = p.id"
REPEATED = "study.patients p JOIN generate_series(1, 5) s(s) ON p.born % 5 >= s.s"
ASKED = [
    "SELECT count(*) FILTER (WHERE p.diagnosis = 'I10') FROM study.patients p CROSS JOIN generate_series(1, 5) s(s)",
    f"SELECT p.plan, avg(p.income), count(*) FROM {REPEATED} GROUP BY 1 ORDER BY 1",
    f"SELECT p.diagnosis, sum(s.s), count(*) FROM {REPEATED} GROUP BY 1 ORDER BY 1",
    f"SELECT p.plan, sum(v.cost) FILTER (WHERE p.diagnosis = 'I10'), stddev(v.cost) FILTER (WHERE p.smoker) FROM {PV} GROUP BY 1 ORDER BY 1",
    f"SELECT corr(p.income, v.cost), regr_slope(p.income, v.cost) FROM {PV}",
    f"SELECT v.reason, avg(p.pressure), count(p.pressure), count(DISTINCT p.id) FROM {PV} GROUP BY 1 ORDER BY 1",
    f"SELECT w.title, v.reason, count(*) FROM {PV} JOIN study.wards w USING (ward) GROUP BY ROLLUP (1, 2) ORDER BY 1, 2",
    "SELECT w.title, count(p.diagnosis), avg(p.income) FROM study.wards w LEFT JOIN study.patients p ON p.ward = w.ward AND p.zip <> '11' GROUP BY 1 ORDER BY 1",
    f"SELECT extract(month FROM v.day), count(*), count(*) FILTER (WHERE v.reason = 'reason1') FROM {PV} WHERE p.diagnosis = 'E11' GROUP BY 1 ORDER BY 1",
    "SELECT p.sex, p.plan, sum(p.income), count(*) FROM study.patients p LEFT JOIN study.visits v ON v.patient = p.id CROSS JOIN study.wards w GROUP BY GROUPING SETS (p.sex, p.plan, (p.sex, p.plan)) ORDER BY 1, 2",
    f"SELECT i.title, sum(v.cost) FROM {PV} JOIN study.icd i ON i.code = p.diagnosis GROUP BY 1 ORDER BY 1",
    f"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v.cost) FILTER (WHERE p.smoker), percentile_cont(0.5) WITHIN GROUP (ORDER BY p.income) FROM {PV}",
    # with groups that are too small, which are left out
    "SELECT born / 10, ward, count(*) FILTER (WHERE smoker), avg(income) FROM study.patients GROUP BY 1, 2 HAVING count(*) >= 20 ORDER BY 1, 2",
    f"SELECT p.born / 10, p.ward, count(*), avg(p.income) FROM {PV} GROUP BY 1, 2 HAVING count(*) >= 60 ORDER BY 1, 2",
    "SELECT zip, plan, sex, count(*), avg(income) FROM study.patients WHERE born < 1960 GROUP BY GROUPING SETS ((zip, plan), (zip, plan, sex)) HAVING count(*) > 10 ORDER BY 1, 2, 3",
    "SELECT corr(income, pressure), corr(pressure, born), stddev(pressure), regr_intercept(pressure, born) FROM study.patients",
    "SELECT sex, covar_pop(income, pressure), regr_r2(income, pressure), regr_avgx(income, pressure) FROM study.patients GROUP BY 1 ORDER BY 1",
    "SELECT plan, max(height), avg(income), avg(born::float8 / 7) FROM study.patients GROUP BY 1 ORDER BY 1",
]


@pytest.fixture(scope="module")
def study(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("counted")
    chosen = POLICY.replace("answers = 1000", "answers = 100000\naudit = 0.99\nknown = 0.99\nrows = 1000\nbins = 1000")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        patch.setattr(StickyNoise, "of", lambda *_: 0.0)
        furnish(postgres_url)
        with Guarding(parse_upstream(postgres_url), postgres_url, folder / "store.db", Policy.parse(chosen)) as gateway:
            yield postgres_url, gateway


@pytest.mark.parametrize("text", ASKED)
def test_without_noise_a_statistic_is_the_direct_answer(study: tuple[str, Guarding], text: str) -> None:
    with psycopg.connect(study[0]) as direct, psycopg.connect(study[1].url(USERS[0]), autocommit=True) as session:
        expected = direct.execute(text.encode()).fetchall()
        for _ in range(2):
            found = session.execute(text.encode()).fetchall()
            assert len(found) == len(expected) > 0
            for one, other in zip(found, expected, strict=True):
                assert all(_alike(a, b) for a, b in zip(one, other, strict=True)), (one, other)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, str) or one is None or other is None:
        return bool(one == other)
    return abs(float(one) - float(other)) <= 2e-3 * abs(float(other)) + 1e-3
