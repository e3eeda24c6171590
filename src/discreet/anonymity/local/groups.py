"""Groups of local recoding, improved by moving members and joined where a requirement is violated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

import numpy as np

from discreet.anonymity.local.acceptance import Allowed
from discreet.anonymity.local.forest import Forest, alike, compact
from discreet.errors import Unsatisfiable
from discreet.kernel.arrays import Flags, Ints, total

NEVER = 2**63 - 1
GONE = -(2**61)
"""What an empty group has paid, so that no class joins it."""
MOST_PAIRS = 512
"""A column with more nodes is not written down pair by pair."""
ASKING = 50_000
"""Values that could be looked at while one change is asked about."""


class Groups:
    """Groups of classes, what each shows and what that costs, while they are being mended.

    The last group is that of suppressed people, who lose everything; `suppressible` is how many there may be.
    """

    def __init__(
        self, forest: Forest, k: int, member: Ints, suppressible: int = 0, *, enough: Allowed | None = None
    ) -> None:
        self.forest, self.sizes, self.k, self.work = forest, forest.sizes, k, 0
        self.allowed = enough
        # The classes of each group.
        stops = np.cumsum(np.bincount(member))[:-1]
        members = [rows.tolist() for rows in np.split(np.argsort(member, kind="stable"), stops)]
        self.member, self.members, self.hidden = member, [*members, []], len(members)
        self.suppressible, self.full = suppressible, int(forest.cost[forest.roots].sum())
        self.people = np.append(total(member, forest.sizes, len(members)), 0)
        self.nodes, self.bundles = np.append(forest.shown(member), forest.leaves[:, :1], axis=1), _Bundles(forest)
        self.cost = np.append(forest.cost[self.nodes[:, :-1]].sum(axis=0), self.full)
        self.paid = self.cost * self.people
        self.codes, self.leaves = self.bundles.code(self.nodes), self.bundles.code(forest.leaves)

    @property
    def kept(self) -> Flags:
        """Which classes are published."""
        return np.asarray(self.member != self.hidden)

    def fill(self) -> None:
        """No group of fewer than k people remains."""
        small_ones = self.people[:-1] < self.k
        if self.allowed is not None:
            small_ones |= ~self.allowed(np.arange(len(self.member)), self.member, len(small_ones))
        for small in np.flatnonzero(small_ones).tolist():
            if self.people[small] < self.k or not self._fine([small]):
                for row in list(self.members[small]):
                    self.move([row], self._nearest(row)[1])

    def mend(self, effort: int) -> None:
        """The dearest groups first, until nothing helps or the effort is spent."""
        better, effort = True, self.work + effort
        while better and self.work < effort:
            better = False
            for number in np.argsort(-self.cost, kind="stable").tolist():
                while self.cost[number] and self.work < effort and self._relieve(number):
                    better = True

    def merge(self, allowed: Allowed) -> None:
        """Groups that are not allowed join their nearest, or are suppressed where that is cheaper, until all are.

        Groups are seen as they look when published.
        """
        self.allowed = allowed
        while True:
            rows = np.flatnonzero(self.kept)
            if not len(rows):
                return
            looks = compact(alike(self.forest.looks[self.nodes])[self.member[rows]])
            bad = ~allowed(rows, looks, int(looks.max()) + 1)[looks]
            if not bad.any():
                return
            numbers, grown = np.unique(self.member[rows[bad]]), set[int]()
            for number in numbers[np.argsort(self.people[numbers], kind="stable")].tolist():
                if self.people[number] and not (number in grown and self._fine([number])):
                    grown.add(self._dissolve(number))

    def _dissolve(self, number: int) -> int:
        """A group joins the one with which that costs least, or is suppressed; gives its new home."""
        people = self.people[number]
        joint = self.bundles.joint(self.nodes[:, number], self.codes)
        added, home = self._least(joint * (self.people + people) - self.paid, number)
        alone = not self.people[home] or joint[home] >= self.forest.cost[-1]
        if people <= self.suppressible - self.people[-1] and (alone or self.full * people < added):
            home = self.hidden
        elif alone:
            raise Unsatisfiable(
                "Even all people who can be published alike are no group that is allowed.",
                remedy="Ask for less, allow more suppression, or give columns hierarchies that end in one value for all.",
            )
        self.move(list(self.members[number]), home)
        return home

    def move(self, rows: Sequence[int], home: int) -> None:
        """Some classes of one group join another."""
        source, leaving = int(self.member[rows[0]]), set(rows)
        self.members[source] = [row for row in self.members[source] if row not in leaving]
        self.members[home].extend(rows)
        self.member[rows] = home
        self._settle(source)
        self._settle(home)

    def _settle(self, number: int) -> None:
        rows = self.members[number]
        self.people[number] = self.sizes[rows].sum()
        if number == self.hidden:
            self.paid[number] = self.full * self.people[number]
            return
        if not rows:
            self.cost[number], self.paid[number] = 0, GONE
            return
        self.nodes[:, number] = nodes = self.forest.over(rows)
        self.codes[:, number] = self.bundles.code(nodes)
        self.cost[number] = self.forest.cost[nodes].sum()
        self.paid[number] = self.cost[number] * self.people[number]

    def _nearest(self, row: int) -> tuple[int, int]:
        """What it costs at least if a class joins another group or is suppressed, and which."""
        self.work += self.codes.size
        joint, size = self.bundles.joint(self.forest.leaves[:, row], self.codes), self.sizes[row]
        added, home = self._least(joint * (self.people + size) - self.paid, self.member[row])
        if self.full * size < added and size <= self.suppressible - self.people[-1]:
            return int(self.full * size), self.hidden
        return added, home

    def _least(self, added: Ints, but: int) -> tuple[int, int]:
        """The least of the costs of joining each group but one, and which group that is."""
        added[but] = added[self.hidden] = NEVER
        place = int(added.argmin())
        return int(added[place]), place

    def _relieve(self, number: int) -> bool:
        """Dissolve a group, or let the member go whose leaving saves most, if either pays."""
        if number == self.hidden:
            return False
        rows = self.members[number]
        added, homes = zip(*map(self._nearest, rows), strict=True)
        # All members move, unless together they then cost more than they do here.
        if sum(added) < self.paid[number] and self._changed(list(zip(rows, homes, strict=True))):
            return True
        if len(rows) == 1:
            return False  # a class by itself costs something only where it may not be published as it is
        left = self.people[number] - self.sizes[rows]
        # What a group would cost a head without each of its members.
        leaves = self.forest.leaves[:, rows]
        order = np.sort(leaves, axis=1)
        low = np.where(leaves == order[:, :1], order[:, 1:2], order[:, :1])
        high = np.where(leaves == order[:, -1:], order[:, -2:-1], order[:, -1:])
        without = np.asarray(self.forest.cost[self.forest.join(low, high)].sum(axis=0))
        gain = self.paid[number] - without * left - np.array(added)
        best = int(gain.argmax())
        if gain[best] <= 0:
            return False
        if left[best] < self.k:
            return self._swap(number, rows[best], homes[best], int(gain[best]))
        return self._changed([(rows[best], homes[best])])

    def _swap(self, number: int, row: int, home: int, gain: int) -> bool:
        """One member goes and the class comes that joins the rest at least cost, if its own group can spare it."""
        self.work += self.leaves.size
        rest = [other for other in self.members[number] if other != row]
        nodes, people = self.forest.over(rest), self.sizes[rest].sum()
        joint = self.bundles.joint(nodes, self.leaves) * (people + self.sizes)
        added = joint - self.forest.cost[nodes].sum() * people - self.cost[self.member] * self.sizes
        spare = (self.people[self.member] - self.sizes >= self.k) & (people + self.sizes >= self.k)
        added[~spare | (self.member == number)] = NEVER
        comer = int(added.argmin())
        return bool(added[comer] < gain) and self._changed([(row, home), (comer, number)])

    def _changed(self, moves: Sequence[tuple[int, int]]) -> bool:
        """Let classes join groups, and take it back where that is dearer or a group is then not allowed."""
        sources = [int(self.member[row]) for row, _ in moves]
        touched = list(dict.fromkeys([*sources, *(home for _, home in moves)]))
        before = self.paid[touched].sum()
        # Every move looks through the members of its two groups, in Python.
        self.work += 100 * len(moves) * max(len(self.members[number]) for number in touched)
        for row, home in moves:
            self.move([row], home)
        left = [number for number in touched if self.people[number]]
        fits = self.people[-1] <= self.suppressible
        if fits and self.paid[left].sum() < before and self._fine(left):
            return True
        for (row, _), source in zip(reversed(moves), reversed(sources), strict=True):
            self.move([row], source)
        return False

    def _fine(self, numbers: Sequence[int]) -> bool:
        """Whether groups may be published as they are now."""
        return self.allows([self.members[number] for number in numbers if number != self.hidden])

    def allows(self, groups: Sequence[Sequence[int] | Ints]) -> bool:
        """Whether groups of classes may be published."""
        if self.allowed is None or not groups:
            return True
        self.work += ASKING
        rows, member = np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
        return bool(self.allowed(rows, member, len(groups)).all())


class _Bundles:
    """Columns with few nodes side by side in one code, so that one look-up answers for several of them."""

    def __init__(self, forest: Forest, *, most: int = 2048) -> None:
        self.forest, self.widths = forest, np.diff(forest.starts).tolist()
        self.bundles = _bundled(self.widths, most)
        self.pick = [itemgetter(*columns, columns[0]) for columns in self.bundles]
        """The nodes of a bundle, and the first of them again, so that there are always several."""
        self.pairs: dict[int, Ints] = {}
        self.row = lru_cache(maxsize=8192)(self._row)

    def code(self, nodes: Ints) -> Ints:
        """Per bundle, one code for the nodes of its columns."""
        codes = np.zeros((len(self.bundles), *nodes.shape[1:]), dtype=np.int64)
        for bundle, columns in enumerate(self.bundles):
            for column in columns:
                codes[bundle] = codes[bundle] * self.widths[column] + nodes[column] - self.forest.starts[column]
        return codes

    def joint(self, nodes: Ints, codes: Ints) -> Ints:
        """What one tuple of nodes costs together with each of many tuples, given by their codes."""
        numbers, cost = nodes.tolist(), np.zeros(codes.shape[1], dtype=np.int64)
        for bundle, (pick, code) in enumerate(zip(self.pick, codes, strict=True)):
            cost += self.row(bundle, pick(numbers)).take(code)
        return cost

    def _row(self, bundle: int, nodes: tuple[int, ...]) -> Ints:
        """What some nodes cost together with those behind each code of their bundle."""
        cost = np.zeros(1, dtype=np.int64)
        for column, node in zip(self.bundles[bundle], nodes, strict=False):
            start = self.forest.starts[column]
            if self.widths[column] > MOST_PAIRS:
                others = np.arange(start, start + self.widths[column])
                joint = self.forest.cost[self.forest.join(np.array(node), others)]
            else:
                joint = self.of_pairs(column)[node - start]
            cost = np.add.outer(cost, joint).reshape(-1)
        return cost

    def of_pairs(self, column: int) -> Ints:
        """What any two nodes of a column cost together."""
        found = self.pairs.get(column)
        if found is None:
            nodes = np.arange(self.forest.starts[column], self.forest.starts[column + 1])
            found = self.pairs[column] = self.forest.cost[self.forest.join(nodes[:, None], nodes)]
        return found


def _bundled(widths: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Columns in bundles of at most so many codes, but for columns that alone have more.

    >>> _bundled([3, 50, 2], 10)
    [(2, 0), (1,)]
    """
    bundles: list[tuple[int, ...]] = []
    codes = most
    for column in sorted(range(len(widths)), key=widths.__getitem__):
        if codes * widths[column] > most or not bundles:
            bundles, codes = [*bundles, ()], 1
        bundles[-1] += (column,)
        codes *= widths[column]
    return bundles
