"""The picture of what noise does to a table, made with the gateway's own noise: python -m handbook.noise_picture."""

from __future__ import annotations

import sys
from pathlib import Path
from types import MappingProxyType

import numpy as np

from discreet.gateway.statistics import Moment, StatisticCell, moments
from discreet.gateway.statistics.noise import StickyNoise
from discreet.policy.gateway_section import AggregateColumn, AggregatesPolicy

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "noise.svg"
BOUNDS = (0.0, 150_000.0)
SETTINGS = AggregatesPolicy(columns=MappingProxyType({"income": AggregateColumn(BOUNDS, None)}))
SIZES = (5, 9, 14, 22, 35, 60, 100, 180, 300, 550, 1000)
"""People per group."""
SUM = Moment("sum", ("clinic.patients.income",))
CASES = Moment("count", ("clinic.patients.diagnosis",), condition="diagnosis IN (B20)")
STYLE = (
    ".back{fill:#fff}.title{font:600 18px system-ui,sans-serif;fill:#12313a}.name{font:600 14px system-ui,sans-serif;fill:#12313a}"
    ".note{font:13px system-ui,sans-serif;fill:#41545a}.line{stroke:#c9d5d9}.span{stroke:#7fa5b0;stroke-width:2}"
    ".exact{fill:none;stroke:#12313a;stroke-width:2}.shown{fill:#b35900}"
    "@media (prefers-color-scheme:dark){.back{fill:#10191c}.title,.name{fill:#e6f1f4}.note{fill:#b4c7cc}"
    ".line{stroke:#31474f}.span{stroke:#5d8c99}.exact{stroke:#e6f1f4}.shown{fill:#f0a04b}}"
)
TOP, STEP, PANELS = 120, 30, ((170, 500), (560, 850))
"""Height of the first row, of each row, and where the two panels begin and end."""


def table(secret: bytes = b"noise") -> list[tuple[int, float, float | None, int, float | None]]:
    """Per group: people, exact and shown mean income, exact and shown number of cases."""
    rng, noise = np.random.default_rng(11), StickyNoise(secret, SETTINGS)
    rows = []
    for size in SIZES:
        incomes = np.clip(rng.normal(52_000 + 9_000 * rng.random(), 22_000, size), *BOUNDS)
        cases = int(rng.binomial(size, 0.3))
        centred = float((incomes - sum(BOUNDS) / 2).sum())
        cell = StatisticCell((str(size),), "", size, f"group of {size}", (centred, float(cases)))
        (shown,) = noise.release((SUM, CASES), [cell])
        mean = moments.average(size, shown.values[0], BOUNDS) if shown.values[0] is not None else None
        rows.append((size, float(incomes.mean()), mean, cases, shown.values[1]))
    return rows


def picture() -> str:
    """The picture as SVG."""
    rows = table()
    height = TOP + STEP * len(rows) + 58
    about = "; ".join(
        f"{size} people: mean {exact:,.0f}, " + ("not shown" if mean is None else f"shown as {mean:,.0f}; {cases} cases, shown as {count:,.0f}")
        for size, exact, mean, cases, count in rows
    )  # fmt: skip
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 {height}" width="880" role="img" aria-labelledby="noise-title noise-about">',
        '<title id="noise-title">What noise does to a table</title>',
        f'<desc id="noise-about">{about}.</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="880" height="{height}"/>',
        '<text class="title" x="20" y="32">Large groups hardly change; small ones blur; the smallest are not shown</text>',
        '<text class="note" x="20" y="54">One table with the default settings. Circle: exact. Dot: as the analyst sees it. Line: two standard deviations of the noise.</text>',
        '<text class="name" x="20" y="96">people</text><text class="name" x="170" y="96">mean income</text><text class="name" x="560" y="96">cases per 100</text>',
    ]
    for place, (size, exact, mean, cases, count) in enumerate(rows):
        y = TOP + STEP * place
        parts.append(f'<text class="name" x="70" y="{y + 5}" text-anchor="end">{size:,}</text>')
        if mean is None or count is None:
            parts.append(f'<text class="note" x="90" y="{y + 5}">not shown: too few people</text>')
            continue
        quantities = ((exact, mean, SUM, BOUNDS[1]), (100 * cases / size, 100 * count / size, CASES, 100.0))
        for (left, right), (true, seen, moment, most) in zip(PANELS, quantities, strict=True):
            spread = 2 * moment.deviation(SETTINGS) / size * (1 if moment is SUM else 100)
            low, high = (_at(left, right, value / most) for value in (true - spread, true + spread))
            parts += [
                f'<line class="line" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>',
                f'<line class="span" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>',
                f'<circle class="exact" cx="{_at(left, right, true / most):.1f}" cy="{y}" r="6"/>',
                f'<circle class="shown" cx="{_at(left, right, seen / most):.1f}" cy="{y}" r="4"/>',
            ]
    foot = TOP + STEP * len(rows) + 6
    for (left, right), labels in zip(PANELS, (("0", "75,000", "150,000"), ("0", "50", "100")), strict=True):
        for share, label in zip((0.0, 0.5, 1.0), labels, strict=True):
            parts.append(
                f'<text class="note" x="{_at(left, right, share):.0f}" y="{foot}" text-anchor="middle">{label}</text>'
            )
    parts.append(f'<text class="note" x="20" y="{foot + 32}">noise = 2, smallest = 7, margin = 3, bounds = [0, 150000]; the same question gets the same noise every time.</text></svg>')  # fmt: skip
    return "\n".join(parts) + "\n"


def _at(left: int, right: int, share: float) -> float:
    return left + (right - left) * min(max(share, 0.0), 1.0)


def main() -> int:
    """Write the picture."""
    PICTURE.write_text(picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
