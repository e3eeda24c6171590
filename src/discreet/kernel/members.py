"""Members of classes: distinct people where several rows belong to one, and the sensitive values they hold.

A panel, a register of visits or a file of claims has several rows for a person. Classes then count people, not rows,
and so do the values of a sensitive column. Both remember who is where: two classes that hold the same person merge
into a class of one. Numbers of people count as the same however they are spelled.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.kernel.arrays import Flags, Ints, Label, group, total
from discreet.kernel.hierarchy import Hierarchy, read_only


@dataclass(frozen=True, eq=False)
class Members:
    """Rows of people in classes: a triple (class, person, rows) per occurring pair.

    >>> visits = Members(np.array([0, 0, 1]), np.array([7, 8, 7]), np.array([40, 1, 2]))
    >>> visits.sizes(2).tolist(), visits.over(np.array([0, 0])).sizes(1).tolist(), visits.number()
    ([2, 1], [2], 2)
    """

    owners: Ints
    people: Ints
    """A number for each person; it means nothing beyond these classes."""
    rows: Ints

    def __post_init__(self) -> None:
        for name in ("owners", "people", "rows"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def over(self, member: Ints) -> Members:
        """The same people in coarser classes; `member` is the new class of each old one."""
        owners, people = member[self.owners], int(self.people.max(initial=-1)) + 1
        bound = (int(owners.max(initial=-1)) + 1) * people
        first, pairs, number = group(owners * people + self.people, bound)
        return Members(owners[first], self.people[first], total(pairs, self.rows, number))

    def only(self, kept: Flags) -> Members:
        """Those with rows in the kept classes, renumbered."""
        number = np.cumsum(kept) - 1
        stays = kept[self.owners]
        return Members(number[self.owners[stays]], self.people[stays], self.rows[stays])

    def sizes(self, classes: int) -> Ints:
        """Distinct people per class."""
        return np.bincount(self.owners, minlength=classes).astype(np.int64)

    def rows_per_class(self, classes: int) -> Ints:
        """Rows per class, of whomever they are."""
        return total(self.owners, self.rows, classes)

    def number(self, marked: Flags | None = None) -> int:
        """How many people have a row in the marked classes, or anywhere."""
        people = self.people if marked is None else self.people[marked[self.owners]]
        return int((np.bincount(people) > 0).sum()) if len(people) else 0

    def once(self, crowd: Ints) -> Ints:
        """People per class, each counted in one class only: the one of theirs with the smallest crowd.

        >>> Members(np.array([0, 0, 1]), np.array([7, 8, 7]), np.array([40, 1, 2])).once(np.array([2, 1])).tolist()
        [1, 1]
        """
        order = np.lexsort((self.owners, crowd[self.owners], self.people))
        people, owners = self.people[order], self.owners[order]
        first = np.concatenate([[True], people[1:] != people[:-1]]) if len(people) else np.zeros(0, dtype=bool)
        return np.bincount(owners[first], minlength=len(crowd)).astype(np.int64)


# How the values of a sensitive column spread over the classes.
@dataclass(frozen=True, eq=False)
class Spread:
    """Counts of sensitive values in classes: a triple (class, value, people) per occurring pair."""

    name: str
    hierarchy: Hierarchy
    owners: Ints
    codes: Ints
    counts: Ints
    holders: Members | None = None
    """Who holds each value in each class, by the place of the pair, where a person may have several rows."""
    whole: Ints | None = None
    """People per value in the whole table, where these classes are only some of it."""

    def __post_init__(self) -> None:
        for name in ("owners", "codes", "counts"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def values(self) -> tuple[Label, ...]:
        """The distinct values of the column."""
        return self.hierarchy.labels[0]

    @cached_property
    def overall(self) -> Ints:
        """People per value in the whole table."""
        if self.whole is not None:
            return self.whole
        if self.holders is not None:
            return self.holders.over(self.codes).sizes(len(self.values))
        return total(self.codes, self.counts, len(self.values))

    def number(self, marked: Flags) -> int:
        """How many people there are in the marked classes."""
        chosen = marked[self.owners]
        return int(self.counts[chosen].sum()) if self.holders is None else self.holders.number(chosen)

    def over(self, member: Ints) -> Spread:
        """Spread over coarser classes; `member` is the new class of each old one."""
        owners = member[self.owners]
        keys = owners * len(self.values) + self.codes
        bound = (int(owners.max(initial=0)) + 1) * len(self.values)
        first, groups, number = group(keys, bound)
        holders = None if self.holders is None else self.holders.over(groups)
        counts = total(groups, self.counts, number) if holders is None else holders.sizes(number)
        return Spread(self.name, self.hierarchy, owners[first], self.codes[first], counts, holders, self.whole)

    def only(self, kept: Flags) -> Spread:
        """The people of the kept classes, renumbered."""
        number = np.cumsum(kept) - 1
        stays = kept[self.owners]
        holders = None if self.holders is None else self.holders.only(stays)
        owners, codes, counts = number[self.owners[stays]], self.codes[stays], self.counts[stays]
        return Spread(self.name, self.hierarchy, owners, codes, counts, holders, self.whole)

    def __repr__(self) -> str:
        return f"Spread({self.name}, {len(self.values)} values)"


SEPARATORS = " ./_"
"""What separates the parts of a number, whichever of them or a dash is written."""
DASHES = "-" * len(SEPARATORS)
ALIKE = str.maketrans(SEPARATORS, DASHES)
FRACTION = re.compile(r"^(\W*[0-9]+)[.,]0+$")
EDGES = re.compile(r"^[+#,;:\s]+|[+#,;:\s]+$")
SIGNS = "+#,;: "
INNER_ZEROS = re.compile(r"(?<=[A-Z])0+(?=[0-9])")


def same_number(value: Label) -> str | None:
    """The number that a value spells; None if it is blank.

    Case, blanks, the width and script of characters, the kind of separators, leading zeros, signs around it and a
    fraction of nothing do not make it another one: it is better to take two people for one than one for two.

    >>> same_number("ab 0.1 "), same_number("AB-0-1"), same_number("007"), same_number("0"), same_number(" ")
    ('AB-0-1', 'AB-0-1', '7', '', None)
    >>> {same_number(text) for text in ("7", "7.0", "+7", "#7,", "\t7", "7\u00a0", "\uff17", "\u0667", "\u200b07")}
    {'7'}
    >>> same_number("P07") == same_number("p7"), same_number("P07") == same_number("P70")
    (True, False)
    """
    if value is None:
        return None
    plain = value
    if not plain.isascii():
        wide = unicodedata.normalize("NFKC", plain)
        plain = "".join(str(unicodedata.digit(sign, sign)) for sign in wide if unicodedata.category(sign) != "Cf")
    plain = " ".join(plain.upper().split())
    if not plain:
        return None
    spelt = EDGES.sub("", FRACTION.sub(r"\1", plain))
    return INNER_ZEROS.sub("", spelt.translate(ALIKE).lstrip("0")) if spelt else plain


def people_of(values: Sequence[Label]) -> list[str | None]:
    """The person that each value of a column stands for; None where it stands for nobody.

    Beyond what one value says, a number with separators is the same as one without, where both are in the column:
    12-34 and 1234 are one person, while 1-12 and 11-2 by themselves are two.

    >>> people_of(["12-34", "1234", "1-12", "11-2", None])
    ['1234', '1234', '1-12', '11-2', None]
    """
    numbers = [same_number(value) for value in values]
    known = {number for number in numbers if number is not None}
    joined = {number: number.replace("-", "") for number in known}
    return [number if number is None or joined[number] not in known else joined[number] for number in numbers]
