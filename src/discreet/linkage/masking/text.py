"""Which characters of two values correspond: restricted Damerau-Levenshtein distance, and the alignment shown to people.

The alignment is a dynamic programme over prefixes. Equal characters take the diagonal at no cost; otherwise the cheapest
of, in this order where they tie: transposition, gap in b, gap in a, substitution. Ties therefore go to the same edit on
every machine, and what a partial view discloses is determined by the two values alone.
"""

from __future__ import annotations

from collections.abc import Sequence

SAME, REPLACED, ALONE, FIRST, SECOND, SWAPPED, CROSSED, DIFFERENT = "=", "r", "a", "f", "s", "w", "x", "d"
"""What became of a character: found in the other value; replaced; without counterpart; the first or the second of two
neighbours that changed places; in the first or the second of two parts that did; in a value that is different as a whole."""

_TRANSPOSED, _GAP_IN_B, _GAP_IN_A, _SUBSTITUTED, _EQUAL = range(5)
_NEVER = 1 << 30


def distance(a: Sequence[str], b: Sequence[str]) -> int:
    """The least number of insertions, deletions, substitutions and exchanges of neighbours, none edited twice.

    >>> distance("Mary", "Mark"), distance("ca", "abc"), distance("1742682819", "1742668281")
    (1, 3, 2)
    """
    a, b = _without_common_ends(a, b)
    if not a or not b:
        return len(a) + len(b)
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, sign in enumerate(a, start=1):
        row = [i]
        for j, other in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (sign != other))
            if i > 1 and j > 1 and sign == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def align(a: Sequence[str], b: Sequence[str], *, per_edit: int = 0) -> tuple[str, str]:
    """What became of each character of `a` and of `b`.

    A transposition costs nothing, a gap or a substitution 1; `per_edit` (1 for identifiers) is added to each edit inside
    both values, which prefers few edits. Gaps before the first character of the other value cost 1 in either case.

    >>> align("Mary", "Mark"), align("Brain", "Brian")
    (('===r', '===r'), ('==fs=', '==fs='))
    >>> align("1742682819", "1742668281", per_edit=1)
    ('=========a', '====a=====')
    """
    tail = _common_tail(a, b)  # equal characters take the diagonal, so a common end is aligned as it stands
    head, other = a[: len(a) - tail], b[: len(b) - tail]
    moves = _moves(head, other, per_edit)
    signs_a, signs_b = _trace(moves, len(head), len(other))
    return signs_a + SAME * tail, signs_b + SAME * tail


def _moves(a: Sequence[str], b: Sequence[str], per_edit: int) -> list[list[int]]:
    """For each pair of prefixes the last step of the alignment."""
    costs = [list(range(len(b) + 1))]
    moves = [[_GAP_IN_A] * (len(b) + 1)]
    for i, sign in enumerate(a, start=1):
        row, steps, above = [i], [_GAP_IN_B], costs[i - 1]
        for j, other in enumerate(b, start=1):
            if sign == other:
                row.append(above[j - 1])
                steps.append(_EQUAL)
                continue
            crossed = i > 1 and j > 1 and sign == b[j - 2] and a[i - 2] == other
            choices = (costs[i - 2][j - 2] if crossed else _NEVER, above[j] + 1, row[j - 1] + 1, above[j - 1] + 1)
            least = min(choices)
            row.append(least + per_edit)
            steps.append(choices.index(least))
        costs.append(row)
        moves.append(steps)
    return moves


def _trace(moves: list[list[int]], i: int, j: int) -> tuple[str, str]:
    """Read the steps from the end to the beginning."""
    signs_a: list[str] = []
    signs_b: list[str] = []
    while i or j:
        move = moves[i][j] if i and j else (_GAP_IN_B if i else _GAP_IN_A)
        if move == _GAP_IN_B:
            signs_a.append(ALONE)
            i -= 1
        elif move == _GAP_IN_A:
            signs_b.append(ALONE)
            j -= 1
        elif move == _TRANSPOSED:
            signs_a += (SECOND, FIRST)
            signs_b += (SECOND, FIRST)
            i, j = i - 2, j - 2
        else:
            sign = SAME if move == _EQUAL else REPLACED
            signs_a.append(sign)
            signs_b.append(sign)
            i, j = i - 1, j - 1
    return "".join(reversed(signs_a)), "".join(reversed(signs_b))


def _common_tail(a: Sequence[str], b: Sequence[str]) -> int:
    tail = 0
    for sign, other in zip(reversed(a), reversed(b), strict=False):
        if sign != other:
            break
        tail += 1
    return tail


def _without_common_ends(a: Sequence[str], b: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    tail = _common_tail(a, b)
    a, b = a[: len(a) - tail], b[: len(b) - tail]
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    return a[start:], b[start:]
