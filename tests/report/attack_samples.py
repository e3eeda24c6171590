"""Small tables under attack by every kind of adversary that a report may meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from discreet.attacker import Attacked
from discreet.kernel import Classes
from discreet.reference.case_study import CONSTANT, ONCE, RISING, SETTINGS
from discreet.report import attack_page
from discreet.report.attack_charts import Case
from tests.report.samples import HOSTILE, ILL, WHEN, with_illness

HIS = SETTINGS[CONSTANT]
SIZES = (1, 2, 5, 13, 14, 20, 28, 29, 44, 45, 46, 60, 200, 3_000)


def crowds(sizes: Sequence[int], name: str = "zip") -> Classes:
    """One class of each size."""
    return Classes.of([name], [(f"z{place}",) for place in range(len(sizes))], sizes)


def town(sizes: Sequence[int] = SIZES) -> tuple[Classes, Classes]:
    """Some people of each class in the data, all of them in the list."""
    return crowds([min(size, 1 + size // 4) for size in sizes]), crowds(sizes)


def losses() -> Classes:
    """Classes with what a re-identification costs."""
    return with_illness([(place, str(10 * len(illness)), number) for place, illness, number in ILL], "cost")


def every_kind() -> Iterator[tuple[str, Attacked]]:
    """Every shape."""
    yield "constant", HIS.on(*town())
    yield "once", SETTINGS[ONCE].on(*town())
    yield "rising", SETTINGS[RISING].on(*town())
    yield "one person", HIS.on(crowds([1]), crowds([1]))
    yield "everybody alone", HIS.on(crowds([1, 1, 1]), crowds([1, 1, 1]))
    yield "nobody attacked", HIS.on(crowds([10, 20]), crowds([500, 9_000]))
    yield "nobody listed", HIS.on(crowds([10, 20]), Classes.of(["zip"], [("elsewhere",)], [100]))
    yield "some unlisted", HIS.on(crowds([3, 4, 5]), crowds([3, 90]))
    yield "never fined", replace(HIS, max_penalties=0).on(*town())
    yield "no penalty", replace(HIS, penalty=0.0).on(*town())
    yield "never detected", replace(HIS, detection_intercept=-700.0).on(*town())
    yield "fearless", replace(HIS, exploit_cost=0.0, penalty=0.0, access_cost=0.0).on(*town())
    yield "no gain", replace(HIS, gain=0.0).on(*town())
    yield "free list", replace(HIS, access_cost=0.0, max_penalties=2, detection_slope=0.1).on(*town())
    yield "calmer with time", replace(HIS, detection_intercept=-2.0, detection_slope=-0.3).on(*town())
    yield "population", HIS.on(*town(), population=crowds([size * 3 for size in SIZES]))
    yield "losses", HIS.on(losses(), losses(), loss="cost")
    yield "one loss", HIS.on(*town(), loss=250.0)
    yield "hostile", HIS.on(crowds([3, 70], HOSTILE), crowds([3, 70], HOSTILE))
    yield "large", HIS.on(crowds([1, 5_000]), crowds([40, 2_000_000]))


KINDS = dict(every_kind())


def case_of(kind: str, threshold: float = 0.2) -> Case:
    """With what deters him."""
    return Case(KINDS[kind], threshold)


def page(struck: Attacked, *, source: str = "people.csv", exceeded: bool = False) -> str:
    """The report with everything else fixed."""
    return attack_page(
        struck,
        title=f"What an adversary would do to {source}",
        source=source,
        threshold=0.2,
        exceeded=exceeded,
        created=WHEN,
        command="discreet attack 'postgresql://ann:s3cret@host/db?table=t' --policy policy.toml --out report.html",
        version="0.1.0",
    )
