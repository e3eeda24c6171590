"""What a reviewer's page tells before anything is paid for: python -m benchmarks.linkage_prices [RECORDS]

The attacker has the whole register, and sees masked pairs of it with the price of each next step. Of 50 masked cells it is
counted which values of the register would look like that (a) by the display without prices, (b) with them; a cell is named
where one value fits. The goal is that (b) keeps at least half of (a), and names no cell that (a) does not. For cells that
differ, (a) is the strict anonymity of the cell, and all pairs that look alike are checked to be quoted alike.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterator
from fractions import Fraction
from statistics import median

import numpy as np

from benchmarks.linkage_index import KINDS, SETTINGS
from benchmarks.linkage_index import records as register
from discreet.linkage import Index, Meter, Pair
from discreet.linkage.review.views import PairDisplay

CELLS = 50


def seen(display: PairDisplay, j: int) -> Hashable:
    """What the page shows of a cell, without its price."""
    rows = [(row.text, row.words, row.frequency) for row in display.rows(j)]
    return tuple(rows), display.marks(j), display.together(j)


def quoted(display: PairDisplay, j: int) -> Hashable:
    """The price of its next step."""
    mode = display.pair.next_mode(display.state, display.pair.attributes[j])
    if mode is None:
        return None
    bound = display.most(display.pair.opened(display.state, display.pair.attributes[j], mode), Fraction(0))
    return mode, bound.parts, bound.characters


class Page:
    """The page of a pair with everything masked."""

    def __init__(self, index: Index, meter: Meter, *, strict: bool) -> None:
        self.index, self.meter, self.strict = index, meter, strict

    def of(self, pair: Pair) -> PairDisplay:
        """The display of a pair."""
        return PairDisplay(self.index.columns, pair, pair.masked, self.meter, self.strict)


def main(records: str = "10000") -> None:
    """Fits before and after quotes, in three displays."""
    people, pairs = register(int(records))
    index = Index.build(people, KINDS, **SETTINGS)
    rng = random.Random(7)
    for words, kappa, strict in (("default", 1, False), ("kappa 5", 5, False), ("strict", 1, True)):
        page = Page(index, Meter(len(pairs), len(KINDS), kappa), strict=strict)
        groups: dict[Hashable, set[Hashable]] = defaultdict(set)
        for first, second in pairs:
            display = page.of(index.pair(first, second))
            for j in range(len(KINDS)):
                groups[j, seen(display, j)].add(quoted(display, j))
        several = sum(len(quotes) > 1 for quotes in groups.values())
        before, after = zip(*cells(index, page, pairs, rng), strict=True)
        print(
            f"{words}: {len(groups):,} looks of cells of {len(pairs):,} pairs, {several} of them quoted in more than one way; of {CELLS} masked "
            f"cells {sum(fits == 1 for fits in before)} named by the display, {sum(fits == 1 for fits in after)} with prices; values that "
            f"fit, median {median(before):,.0f} and {median(after):,.0f}; least share left by prices "
            f"{min(b / a for a, b in zip(before, after, strict=True)):.2f}"
        )
        sys.stdout.flush()


def cells(index: Index, page: Page, pairs: list[tuple[int, int]], rng: random.Random) -> Iterator[tuple[int, int]]:
    """Of masked cells how many values fit by the display, and by display and price."""
    holders = [defaultdict(list) for _ in KINDS]
    for j, column in enumerate(index.columns):
        for record, code in enumerate(column.codes.tolist()):
            if len(holders[j][code]) < 2:
                holders[j][code].append(record)
    done = 0
    while done < CELLS:
        display = page.of(index.pair(*rng.choice(pairs)))
        j = rng.randrange(len(KINDS))
        cell = display.pair.cells[j]
        if cell.left.value is None or cell.right.value is None:
            continue
        done += 1
        look, quote = seen(display, j), quoted(display, j)
        if cell.equal:
            like = [page.of(index.pair(*two)) for two in holders[j].values() if len(two) == 2]
            alike = [other for other in like if seen(other, j)[0] == look[0]]  # type: ignore[index]
            yield len(alike), sum(quoted(other, j) == quote for other in alike)
        elif page.strict:
            values = len(holders[j])
            yield values, values
        else:
            mask = index.strictness.constraint(display.pair, 0, j, "masked").mask()
            fits = len(np.unique(index.columns[j].codes[mask]))
            yield fits, fits


if __name__ == "__main__":
    main(*sys.argv[1:])
