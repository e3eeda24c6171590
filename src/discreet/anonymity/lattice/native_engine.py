"""The compiled engine: inner loops in C (engine.c), called through ctypes; the same results bit by bit as in numpy.

The library is built where a C compiler is at hand when Discreet is installed. Where it is missing, or was built from
another engine.c, everything runs in numpy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.lattice.problem import LatticeProblem, Node, derived
from discreet.anonymity.lattice.tuples import Merged, Numbers, NumpyCounter, SmallClasses, Tuples
from discreet.kernel.arrays import Ints

LIBRARY = Path(__file__).with_name("engine.so")
VERSION = 2
"""As in engine.c: a library of another version is not used."""
MOST_ROWS = 2**31
"""People (rows) that are counted in 32 bits, with sums of squares in 64."""
MOST_IDS = 2**16

Pointer, Int, Double = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class _Tuples(ctypes.Structure):
    _fields_ = (("tuples", Int), ("groups", Int), ("ids", Pointer), ("counts", Pointer))


class _Work(ctypes.Structure):
    _fields_ = (
        ("table", Pointer), ("room", Int), ("keys", Pointer), ("slots", Pointer), ("sizes", Pointer), ("first", Pointer),
        ("classes", Int),
    )  # fmt: skip


class _Lattice(ctypes.Structure):
    _fields_ = (
        ("columns", Int), ("nodes", Int), ("standing", Pointer), ("heights", Pointer), ("sizes", Pointer),
        ("columns_of", Pointer), ("column", Pointer), ("codes", Pointer), ("ids_of", Pointer), ("own", Pointer),
        ("agree", Pointer), ("places", Pointer),
    )  # fmt: skip


FUNCTIONS: dict[str, tuple[Any, Sequence[Any]]] = {
    "discreet_version": (Int, ()),
    "discreet_count": (Int, (Pointer, Pointer, Pointer, Pointer)),
    "discreet_look": (Int, (Pointer, Pointer, Pointer, Pointer, Int, Pointer)),
    "discreet_spread": (None, (Pointer, Int, Pointer, Int, Pointer, Pointer, Pointer, Pointer)),
    "discreet_rarest": (Int, (Pointer, Int, Pointer, Pointer)),
    "discreet_add_up": (None, (Pointer, Int, Int, Pointer, Int)),
    "discreet_around": (None, (Pointer, Pointer, Int, Pointer)),
    "discreet_rank": (Int, (Int, Int, Pointer, Pointer, Pointer, Pointer, Pointer)),
    "discreet_rule_out": (Int, (Pointer, Pointer, Int, Int)),
    "discreet_observe": (None, (Pointer, Pointer, Double)),
    "discreet_learn": (None, (Pointer,)),
    "discreet_next": (Int, (Pointer,)),
    "discreet_fits": (None, (Pointer, Double, Int, Pointer, Int, Int, Int, Pointer, Int, Int)),
    "discreet_climb": (Int, (Pointer, Int)),
}


def load(path: Path = LIBRARY) -> Any:
    """The library at a place, or None where it is missing or another one."""
    try:
        found = ctypes.CDLL(str(path))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
        return found if found.discreet_version() == VERSION else None
    except (OSError, AttributeError):
        return None


@cache
def library() -> Any:
    """The library that was built beside this file, or None."""
    return load()


def fits(problem: LatticeProblem) -> bool:
    """Whether a table is one that the library can count."""
    return problem.people < MOST_ROWS and max((ladder.size for ladder in problem.ladders), default=0) < MOST_IDS


def address_of(array: Any) -> int:
    """Where an array starts in memory; it must be kept alive."""
    return int(array.__array_interface__["data"][0])


class _Addresses:
    """Several arrays of one kind, kept alive, and where they start."""

    def __init__(self, arrays: Sequence[Any], kind: Any) -> None:
        self.arrays = [np.ascontiguousarray(array, dtype=kind) for array in arrays]
        self.starts = (Pointer * len(self.arrays))(*map(address_of, self.arrays))
        self.address = ctypes.addressof(self.starts)


class _Packed:
    """Merged tuples as the library reads them."""

    def __init__(self, tuples: Merged) -> None:
        self.ids = _Addresses(tuples.ids, np.uint16)
        self.counts = np.ascontiguousarray(tuples.counts, dtype=np.uint32)
        self.rows = np.ascontiguousarray(tuples.rows, dtype=np.int64)
        self.rows_address = address_of(self.rows)
        self.struct = _Tuples(len(self.counts), len(tuples.ids), self.ids.address, address_of(self.counts))
        self.address = ctypes.addressof(self.struct)


class _Table:
    """Columns, levels and groups as the library reads them."""

    def __init__(
        self, problem: LatticeProblem, tuples: Tuples, standing: Sequence[_Addresses], own: _Addresses
    ) -> None:
        groups = tuples.groups
        self.standing = (Pointer * len(standing))(*(stands.address for stands in standing))
        self.heights, self.sizes, self.columns_of, self.column, self.ids_of = (
            np.array(numbers, dtype=np.int64)
            for numbers in (
                problem.shape,
                [ladder.size for ladder in problem.ladders],
                [len(own.places) for own in groups],
                [place for own in groups for place in own.places],
                [len(own.codes[0]) for own in groups],
            )
        )
        self.codes = _Addresses([codes for own in groups for codes in own.codes], np.uint32)
        numbers = map(address_of, (self.heights, self.sizes, self.columns_of, self.column))
        self.fields = (
            len(problem.shape), problem.nodes, ctypes.addressof(self.standing), *numbers, self.codes.address,
            address_of(self.ids_of), own.address,
        )  # fmt: skip


class _Shared:
    """What all searches over one table read."""

    def __init__(self, problem: LatticeProblem) -> None:
        self.tuples = Tuples(problem, (np.uint16, np.uint32))
        self.packed: dict[int, _Packed] = {}
        self.ranks: dict[tuple[int, Node], tuple[Any, int, int]] = {}
        self.codes = _Addresses(problem.codes, np.uint32)
        self.standing = [_Addresses(ladder.standing, np.int64) for ladder in problem.ladders]
        self.stands = [list(stands.starts) for stands in self.standing]
        self.lattice = _Table(problem, self.tuples, self.standing, self.codes)
        self.starts = np.array([0, *np.cumsum([ladder.size for ladder in problem.ladders])], dtype=np.int64)
        self.library, groups = library(), self.tuples.groups
        self.levels = [_picker(group.places) for group in groups]
        self.codes_of = [_Addresses(group.codes, np.uint32) for group in groups]
        self.sizes_of = [
            np.array([problem.ladders[place].size for place in group.places], dtype=np.int64) for group in groups
        ]

    def of(self, tuples: Merged) -> _Packed:
        """Merged tuples, laid out once."""
        found = self.packed.get(id(tuples))
        if found is None:
            found = self.packed[id(tuples)] = _Packed(tuples)
        return found

    def ranked(self, number: int, node: Node, work: int) -> tuple[Any, int, int]:
        """What is left of each id of a group at a node: the numbers, where they start, and how many there are."""
        key = number, self.levels[number](node)
        found = self.ranks.get(key)
        if found is None:
            group = self.tuples.groups[number]
            ranks = np.empty(len(group.codes[0]), dtype=np.uint16)
            standing = (Pointer * len(group.places))(*(self.stands[place][node[place]] for place in group.places))
            codes, sizes = self.codes_of[number], self.sizes_of[number]
            left = self.library.discreet_rank(
                len(group.places), len(ranks), codes.address, standing, address_of(sizes), work, address_of(ranks)
            )
            if left < 0:
                numbers, left = self.tuples.ranked(number, node)
                ranks = numbers.astype(np.uint16)
            found = self.ranks[key] = ranks, address_of(ranks), left
        return found


def _picker(places: Sequence[int]) -> Any:
    """The levels of some columns, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda node: (node[places[0]],)


class CompiledCounter:
    """Counts the classes of a node in C."""

    def __init__(self, problem: LatticeProblem) -> None:
        shared = derived(problem.classes).get(CompiledCounter)
        if not isinstance(shared, _Shared):
            shared = derived(problem.classes)[CompiledCounter] = _Shared(problem)
        self.shared: _Shared = shared
        self.problem, self.library = problem, library()
        most = len(problem.classes) + 1
        # A search has room of its own, so that several may run at once.
        room = 8 * most + 2**16
        self.table, self.keys = np.zeros(room, dtype=np.uint32), np.empty(most, dtype=np.uint64)
        self.slots, self.sizes_, self.first = (np.empty(most, dtype=np.uint32) for _ in range(3))
        self.work = _Work(
            address_of(self.table),
            room,
            address_of(self.keys),
            address_of(self.slots),
            address_of(self.sizes_),
            address_of(self.first),
            0,
        )
        groups = len(shared.tuples.groups)
        self.ranks, self.left, self.out = (Pointer * groups)(), (ctypes.c_uint64 * groups)(), (Int * 4)()
        self.work_at, self.ranks_at, self.left_at, self.out_at = map(
            ctypes.addressof, (self.work, self.ranks, self.left, self.out)
        )
        self.looks = 0

    def look(self, node: Node, k: int) -> tuple[int, int, int, int, SmallClasses]:
        """Rows in classes below k, larger classes, the sum of squares of all and of the larger, and the small ones."""
        packed = self._ready(self.shared.tuples.source(node, self.merge), node)
        if self.library.discreet_look(packed.address, self.ranks_at, self.left_at, self.work_at, k, self.out_at) < 0:
            return NumpyCounter(self.problem).look(node, k)
        few, kept, squares, kept_squares = self.out
        return few, kept, squares, kept_squares, CountedLast(self, node, k, packed, self.looks)

    def sizes(self, node: Node) -> Ints:
        """The rows of every class."""
        return self.merge(self.shared.tuples.source(node, self.merge), node)[1].astype(np.int64)

    def _ready(self, tuples: Merged, node: Node) -> _Packed:
        """The tuples to count from, with the numbers of a node in place."""
        self.looks += 1
        for number in range(len(self.ranks)):
            _, self.ranks[number], self.left[number] = self.shared.ranked(number, node, self.work_at)
        return self.shared.of(tuples)

    def merge(self, tuples: Merged, node: Node) -> tuple[Numbers, Numbers]:
        packed = self._ready(tuples, node)
        found = self.library.discreet_count(packed.address, self.ranks_at, self.left_at, self.work_at)
        if found < 0:
            return NumpyCounter(self.problem).merge(tuples, node)
        return self.first[:found], self.sizes_[:found].copy()

    def by_value(self, small: CountedLast) -> tuple[Ints, ...]:
        """Per column, rows of the small classes by the code that stands for their value."""
        shared, node = self.shared, small.node
        out = np.zeros(int(shared.starts[-1]), dtype=np.int64)
        standing = (Pointer * len(node))(*(shared.stands[column][level] for column, level in enumerate(node)))
        self.library.discreet_spread(
            self.work_at, small.k, small.packed.rows_address, len(node), shared.codes.address, standing,
            address_of(shared.starts), address_of(out),
        )  # fmt: skip
        return tuple(out[start:stop] for start, stop in pairwise(shared.starts.tolist()))

    def around(self, small: CountedLast) -> NDArray[np.int32]:
        """At every node of the lattice, the rows that look like the rarest of the small classes."""
        tuples = self.shared.tuples
        row = self.library.discreet_rarest(self.work_at, small.k, small.packed.rows_address, address_of(tuples.rarity))
        out = np.zeros(self.problem.nodes, dtype=np.int32)
        finest, lattice = self.shared.of(tuples.finest), self.shared.lattice
        # Room of its own: another search may ask at the same time.
        agree = np.empty(int(self.shared.starts[-1]), dtype=np.int64)
        places = np.empty(int(lattice.ids_of.sum()), dtype=np.int64)
        struct = _Lattice(*lattice.fields, address_of(agree), address_of(places))
        self.library.discreet_around(finest.address, ctypes.addressof(struct), row, address_of(out))
        self.library.discreet_add_up(address_of(out), len(out), len(lattice.heights), address_of(lattice.heights), 0)
        return out


@dataclass(eq=False)
class CountedLast:
    """The small classes of a node: those counted last, or counted again."""

    counter: CompiledCounter
    node: Node
    k: int
    packed: _Packed
    look: int

    def by_value(self) -> tuple[Ints, ...]:
        """Per column, their rows by the code that stands for their value."""
        self._counted()
        return self.counter.by_value(self)

    def around(self) -> NDArray[np.int32]:
        """At every node of the lattice, the rows that look like the rarest of them."""
        self._counted()
        return self.counter.around(self)

    def _counted(self) -> None:
        if self.look != self.counter.looks:
            self.counter.look(self.node, self.k)
            self.packed, self.look = (
                self.counter.shared.of(self.counter.shared.tuples.source(self.node, self.counter.merge)),
                self.counter.looks,
            )
