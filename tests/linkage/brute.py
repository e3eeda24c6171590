"""Masking and scoring written down a second time, straight from the definitions and as slow as they read."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

Record = Mapping[str, Any]
Shown = list[str | None] | None
"""What a partial view shows of a value, character by character; None for a star. No list: there is no partial view."""


def letters(value: str) -> list[str]:
    found: list[str] = []
    for sign in value:
        if found and unicodedata.combining(sign):
            found[-1] += sign
        else:
            found.append(sign)
    return found


def is_missing(value: Any) -> bool:
    return value is None or value != value or value in ("", "?")


def osa(a: Sequence[str], b: Sequence[str]) -> int:
    """Try everything at the beginning of both, and go on with the rest."""

    @cache
    def rest(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return len(a) - i + len(b) - j
        tries = [rest(i + 1, j) + 1, rest(i, j + 1) + 1, rest(i + 1, j + 1) + (a[i] != b[j])]
        if i + 1 < len(a) and j + 1 < len(b) and a[i] == b[j + 1] and a[i + 1] == b[j]:
            tries.append(rest(i + 2, j + 2) + 1)
        return min(tries)

    return rest(0, 0)


def aligned(a: Sequence[str], b: Sequence[str], identifier: bool) -> tuple[set[int], set[int]]:
    """The places that differ, by the dynamic programme over prefixes as it is described, from the end."""

    @cache
    def best(i: int, j: int) -> tuple[int, str]:
        if not i or not j:
            return i + j, "gap in b" if i else "gap in a"
        if a[i - 1] == b[j - 1]:
            return best(i - 1, j - 1)[0], "equal"
        tries = []
        if i > 1 and j > 1 and (a[i - 1], a[i - 2]) == (b[j - 2], b[j - 1]):
            tries.append((best(i - 2, j - 2)[0], "transposition"))
        tries.append((best(i - 1, j)[0] + 1, "gap in b"))
        tries.append((best(i, j - 1)[0] + 1, "gap in a"))
        tries.append((best(i - 1, j - 1)[0] + 1, "substitution"))
        cost, step = min(tries, key=lambda one: one[0])  # the first of the cheapest
        return cost + identifier, step

    first, second, i, j = set(), set(), len(a), len(b)
    while i or j:
        step = best(i, j)[1]
        by = {"gap in b": (1, 0), "gap in a": (0, 1), "transposition": (2, 2)}.get(step, (1, 1))
        if step != "equal":
            first |= set(range(i - by[0], i))
            second |= set(range(j - by[1], j))
        i, j = i - by[0], j - by[1]
    return first, second


def open_at(value: Sequence[str], places: set[int]) -> Shown:
    return [sign if place in places else None for place, sign in enumerate(value)]


def partial(kind: str, a: Any, b: Any, whole_swap: bool = False) -> tuple[Shown, Shown]:
    """The partial view of two values that differ. Dates are MM/DD/YYYY; their separators count as stars."""
    if kind == "category" or is_missing(a) or is_missing(b):
        return None, None
    if kind == "date":
        return _date(a, b, whole_swap)
    x, y = letters(a), letters(b)
    if kind == "fixed":
        if len(x) != len(y) or osa(x, y) > 4:
            return None, None
        first, second = aligned(x, y, identifier=True)
        return open_at(x, first), open_at(y, second)
    short, long = sorted((x, y), key=len)
    start, end = long[: len(short)] == short, long[len(long) - len(short) :] == short
    if len(short) < len(long) and (start or end):
        gap = len(long) - len(short)
        if Fraction(gap, len(long)) > Fraction(1, 2):
            return list(x), list(y)
        more = set(range(len(short), len(long))) if start else set(range(gap))
        views = open_at(short, set()), open_at(long, more)
        return views if len(x) < len(y) else views[::-1]
    if Fraction(osa(x, y), len(long)) > Fraction(1, 2):
        return None, None
    first, second = aligned(x, y, identifier=False)
    return open_at(x, first), open_at(y, second)


def _date(a: str, b: str, whole_swap: bool) -> tuple[Shown, Shown]:
    (m, d, y), (n, e, z) = a.split("/"), b.split("/")
    swap = m == e and d == n and m != d
    if not swap and m != n and d != e and y != z:
        return None, None
    differing = {place for place in range(10) if a[place] != b[place]}
    if swap and whole_swap:
        differing |= {0, 1, 3, 4}
    return open_at(a, differing), open_at(b, differing)


class Brute:
    """A display, every number of it counted anew."""

    def __init__(
        self,
        records: Sequence[Record],
        kinds: Mapping[str, str],
        pairs: Sequence[tuple[int, int]],
        *,
        kappa: int = 1,
        whole_swap: bool = False,
        swap: tuple[str, str] | None = None,
    ) -> None:
        self.records, self.kinds, self.pairs, self.kappa = records, kinds, pairs, kappa
        self.whole_swap, self.swap = whole_swap, swap
        self.modes = [dict.fromkeys(kinds, "masked") for _ in pairs]
        self.views = cache(self._views)
        self.sharing = {
            name: Counter(None if is_missing(one[name]) else one[name] for one in records) for name in kinds
        }

    def is_swapped(self, pair: int) -> bool:
        if self.swap is None:
            return False
        (i, j), (here, there) = self.pairs[pair], self.swap
        a, b = self.records[i], self.records[j]
        if any(is_missing(one[name]) for one in (a, b) for name in self.swap):
            return False
        return bool(a[here] == b[there] and a[there] == b[here] and a[here] != a[there])

    def agrees(self, pair: int, name: str) -> bool:
        a, b = (self.records[i][name] for i in self.pairs[pair])
        return not is_missing(a) and not is_missing(b) and bool(a == b)

    def _views(self, pair: int, name: str) -> tuple[Shown, Shown]:
        if self.is_swapped(pair) and self.swap and name in self.swap:
            return None, None
        a, b = (self.records[i][name] for i in self.pairs[pair])
        return partial(self.kinds[name], a, b, self.whole_swap)

    def has_partial(self, pair: int, name: str) -> bool:
        if self.agrees(pair, name):
            return self.kinds[name] != "category"
        return self.views(pair, name)[0] is not None

    def open(self, pair: int, name: str, mode: str) -> None:
        together = self.swap if self.is_swapped(pair) and self.swap and name in self.swap else (name,)
        for one in together:
            now = self.modes[pair][one]
            order = ("masked", "partial", "full")
            self.modes[pair][one] = max(now, mode, key=order.index)

    def open_all(self, mode: str) -> None:
        for pair, name in itertools.product(range(len(self.pairs)), self.kinds):
            if mode == "full" or self.has_partial(pair, name):
                self.open(pair, name, mode)

    def share(self, pair: int, row: int, name: str) -> Fraction:
        mode, value = self.modes[pair][name], self.records[self.pairs[pair][row]][name]
        if mode == "masked" or is_missing(value):
            return Fraction(0)
        if mode == "full":
            return Fraction(1)
        if self.agrees(pair, name):
            return Fraction(0)
        view = self.views(pair, name)[row]
        assert view is not None
        shown = len(view) - view.count(None)
        return Fraction(shown, 8 if self.kinds[name] == "date" else len(view))

    def is_compatible(self, other: Record, pair: int, row: int, name: str) -> bool:
        mode, own, value = self.modes[pair][name], self.records[self.pairs[pair][row]][name], other[name]
        if mode == "masked":
            return True
        if mode == "full":
            return (is_missing(own) and is_missing(value)) or bool(own == value)
        if self.agrees(pair, name):
            return self.sharing[name][None if is_missing(value) else value] >= 2
        view = self.views(pair, name)[row]
        assert view is not None
        if is_missing(value):
            return False
        signs = list(value) if self.kinds[name] == "date" else letters(value)
        return len(signs) == len(view) and all(v is None or v == s for v, s in zip(view, signs, strict=True))

    @property
    def anonymity(self) -> list[int]:
        return [
            sum(all(self.is_compatible(one, pair, row, name) for name in self.kinds) for one in self.records)
            for pair in range(len(self.pairs))
            for row in (0, 1)
        ]

    @property
    def score(self) -> Fraction:
        rows = itertools.product(range(len(self.pairs)), (0, 1))
        total = sum(
            Fraction(1, k) * sum(self.share(pair, row, name) for name in self.kinds)
            for (pair, row), k in zip(rows, self.anonymity, strict=True)
        )
        return Fraction(self.kappa, 2 * len(self.pairs) * len(self.kinds)) * total
