"""The compiled engine: inner loops in C (engine.c), called through ctypes; the same results bit by bit as in numpy.

The library is built where a C compiler is at hand when Discreet is installed. Where it is missing, or was built from
another engine.c, everything runs in numpy.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from discreet.anonymity.lattice.candidates import DONE, LiveNodes, NodeFinding
from discreet.anonymity.lattice.problem import LatticeProblem, Node, derived
from discreet.anonymity.lattice.tuples import Merged, NumpyCounter, SmallClasses, Tuples
from discreet.kernel.arrays import Floats, Ints

LIBRARY = Path(__file__).with_name("engine.so")
VERSION = 1
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


class _LiveStruct(ctypes.Structure):
    _fields_ = (
        ("count", Int), ("place", Pointer), ("bound", Pointer), ("outer", Pointer), ("rest", Pointer), ("packed", Pointer),
        ("above", Pointer), ("below", Pointer), ("status", Pointer), ("guards", Int), ("node_packed", Int),
        ("first", Pointer), ("second", Pointer), ("dead", Int), ("times", Int), ("extra", Double), ("more", Double),
        ("ceiling", Double), ("last_ceiling", Double), ("settled", Int), ("next", Int), ("least", Double),
    )  # fmt: skip


class _Climb(ctypes.Structure):
    _fields_ = (
        ("columns", Int), ("shape", Pointer), ("strides", Pointer), ("status", Pointer), ("most", Pointer),
        ("crowd", Pointer), ("tables", Pointer), ("starts", Pointer), ("need", Double), ("reach", Double),
        ("enough", Double), ("up", Int), ("score", Double),
    )  # fmt: skip


FUNCTIONS: dict[str, tuple[Any, Sequence[Any]]] = {
    "discreet_version": (Int, ()),
    "discreet_count": (Int, (Pointer, Pointer, Pointer, Pointer)),
    "discreet_look": (Int, (Pointer, Pointer, Pointer, Pointer, Int, Pointer)),
    "discreet_spread": (None, (Pointer, Int, Pointer, Int, Pointer, Pointer, Pointer, Pointer)),
    "discreet_rarest": (Int, (Pointer, Int, Pointer, Pointer)),
    "discreet_add_up": (None, (Pointer, Int, Int, Pointer, Int)),
    "discreet_around": (None, (Pointer, Pointer, Int, Pointer)),
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


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


class _Addresses:
    """Several arrays of one kind, kept alive, and where they start."""

    def __init__(self, arrays: Sequence[Any], kind: Any) -> None:
        self.arrays = [np.ascontiguousarray(array, dtype=kind) for array in arrays]
        self.starts = (Pointer * len(self.arrays))(*map(_address, self.arrays))
        self.address = ctypes.addressof(self.starts)


class _Packed:
    """Merged tuples as the library reads them."""

    def __init__(self, tuples: Merged) -> None:
        self.ids = _Addresses(tuples.ids, np.uint16)
        self.counts = np.ascontiguousarray(tuples.counts, dtype=np.uint32)
        self.rows = np.ascontiguousarray(tuples.rows, dtype=np.int64)
        self.rows_address = _address(self.rows)
        self.struct = _Tuples(len(self.counts), len(tuples.ids), self.ids.address, _address(self.counts))
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
        numbers = map(_address, (self.heights, self.sizes, self.columns_of, self.column))
        self.fields = (
            len(problem.shape), problem.nodes, ctypes.addressof(self.standing), *numbers, self.codes.address,
            _address(self.ids_of), own.address,
        )  # fmt: skip


class _Shared:
    """What all searches over one table read."""

    def __init__(self, problem: LatticeProblem) -> None:
        self.tuples = Tuples(problem)
        self.packed: dict[int, _Packed] = {}
        self.ranks: dict[tuple[int, Node], tuple[Any, int, int]] = {}
        self.codes = _Addresses(problem.codes, np.uint32)
        self.standing = [_Addresses(ladder.standing, np.int64) for ladder in problem.ladders]
        self.stands = [list(stands.starts) for stands in self.standing]
        self.lattice = _Table(problem, self.tuples, self.standing, self.codes)
        self.starts = np.array([0, *np.cumsum([ladder.size for ladder in problem.ladders])], dtype=np.int64)
        self.levels = [_picker(group.places) for group in self.tuples.groups]

    def of(self, tuples: Merged) -> _Packed:
        """Merged tuples, laid out once."""
        found = self.packed.get(id(tuples))
        if found is None:
            found = self.packed[id(tuples)] = _Packed(tuples)
        return found

    def ranked(self, number: int, node: Node) -> tuple[Any, int, int]:
        """What is left of each id of a group at a node: the numbers, where they start, and how many there are."""
        key = number, self.levels[number](node)
        found = self.ranks.get(key)
        if found is None:
            ranks, left = self.tuples.ranked(number, node)
            small = ranks.astype(np.uint16)
            found = self.ranks[key] = small, _address(small), left
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
            _address(self.table),
            room,
            _address(self.keys),
            _address(self.slots),
            _address(self.sizes_),
            _address(self.first),
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
        return self.merge(self.shared.tuples.source(node, self.merge), node)[1]

    def _ready(self, tuples: Merged, node: Node) -> _Packed:
        """The tuples to count from, with the numbers of a node in place."""
        self.looks += 1
        for number in range(len(self.ranks)):
            _, self.ranks[number], self.left[number] = self.shared.ranked(number, node)
        return self.shared.of(tuples)

    def merge(self, tuples: Merged, node: Node) -> tuple[Ints, Ints]:
        packed = self._ready(tuples, node)
        found = self.library.discreet_count(packed.address, self.ranks_at, self.left_at, self.work_at)
        if found < 0:
            return NumpyCounter(self.problem).merge(tuples, node)
        return self.first[:found].astype(np.int64), self.sizes_[:found].astype(np.int64)

    def by_value(self, small: CountedLast) -> tuple[Ints, ...]:
        """Per column, rows of the small classes by the code that stands for their value."""
        shared, node = self.shared, small.node
        out = np.zeros(int(shared.starts[-1]), dtype=np.int64)
        standing = (Pointer * len(node))(*(shared.stands[column][level] for column, level in enumerate(node)))
        self.library.discreet_spread(
            self.work_at, small.k, small.packed.rows_address, len(node), shared.codes.address, standing,
            _address(shared.starts), _address(out),
        )  # fmt: skip
        return tuple(out[start:stop] for start, stop in pairwise(shared.starts.tolist()))

    def around(self, small: CountedLast) -> Ints:
        """At every node of the lattice, the rows that look like the rarest of the small classes."""
        tuples = self.shared.tuples
        row = self.library.discreet_rarest(self.work_at, small.k, small.packed.rows_address, _address(tuples.rarity))
        out = np.zeros(self.problem.nodes, dtype=np.int64)
        finest, lattice = self.shared.of(tuples.finest), self.shared.lattice
        # Room of its own: another search may ask at the same time.
        agree = np.empty(int(self.shared.starts[-1]), dtype=np.int64)
        places = np.empty(int(lattice.ids_of.sum()), dtype=np.int64)
        struct = _Lattice(*lattice.fields, _address(agree), _address(places))
        self.library.discreet_around(finest.address, ctypes.addressof(struct), row, _address(out))
        shape = np.array(self.problem.shape, dtype=np.int64)
        self.library.discreet_add_up(_address(out), len(out), len(shape), _address(shape), 0)
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

    def around(self) -> Ints:
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


class CompiledNodes(LiveNodes):
    """LiveNodes whose bounds are raised in C."""

    def __init__(self, shape: Node, bounds: Floats, *, times: bool, moves: bool) -> None:
        super().__init__(shape, bounds, times=times, moves=moves)
        self.library = library()
        self.shape_array = np.array(shape, dtype=np.int64)
        self.stride_array = np.array(self.strides, dtype=np.int64)
        self.table_starts = np.array(self.starts, dtype=np.int64)
        self.struct = _LiveStruct(guards=self.guards, times=int(times))
        self.at_struct = ctypes.addressof(self.struct)
        self.most_at = _address(self.most)
        self.way = _Climb(
            columns=len(shape), shape=_address(self.shape_array), strides=_address(self.stride_array),
            most=self.most_at, starts=_address(self.table_starts),
        )  # fmt: skip
        self.at_way = ctypes.addressof(self.way)
        self.half_levels = [(len(levels), _address(levels)) for levels in self.levels]
        self.held: dict[str, Any] = {}

    def list_up(self, ceiling: float) -> None:
        """Start with the nodes that may cost at most so much."""
        super().list_up(ceiling)
        self.status = np.ascontiguousarray(self.status)
        self._point()

    def _shorten(self) -> None:
        super()._shorten()
        self._point()

    def _point(self) -> None:
        """Tell the library where everything is."""
        names = ["place", "bound", "outer", "rest", "packed", *(["above", "below"] if self.moves else [])]
        self.held = {name: getattr(self, name) for name in names}
        for name, array in self.held.items():
            setattr(self.struct, name, _address(array))
        self.struct.status = self.way.status = _address(self.status)
        self.struct.count, self.struct.settled, self.struct.last_ceiling = len(self.place), 0, math.inf

    def _cut(self) -> None:
        """What the library left at the start of each array is all that there is."""
        count = self.struct.count
        for name, array in self.held.items():
            setattr(self, name, array[:count])

    def done(self, place: int) -> None:
        """A node was evaluated; a candidate leaves with what its look says."""
        self.status[place] = DONE
        row = int(self.place.searchsorted(place))
        if row < len(self.place) and self.place[row] == place:
            self.bound[row] = math.inf
            self.struct.settled += 1

    def next(self) -> int:
        """The candidate of least bound, the first of equal ones; -1 if none is left."""
        self.row = int(self.library.discreet_next(self.at_struct))
        self.least = self.struct.least
        return int(self.struct.next)

    def learn(self, found: NodeFinding, ceiling: float) -> None:
        """Take in what a look says, and leave out what is ruled out."""
        struct = self.struct
        struct.node_packed = self.pack(found.place)
        struct.dead, struct.extra, struct.more, struct.ceiling = found.dead, found.extra, found.above, ceiling
        if found.below is not None:
            halves = self.halves(found.below, np.multiply if self.times else np.add)
            struct.first, struct.second = map(_address, halves)
        else:
            struct.first = None
        before = struct.count
        self.library.discreet_learn(self.at_struct)
        if struct.count != before:
            self._cut()

    def fits(self, place: int, suppressed: int) -> None:
        """A node suppresses so few; all coarser ones suppress no more."""
        parts, guards = self._parts(self.pack(place)), self.guard_parts
        (outers, outer), (rests, rest) = self.half_levels
        self.library.discreet_fits(
            self.most_at, suppressed, outers, outer, guards[0], parts[0], rests, rest, guards[1], parts[1]
        )

    def crowds(self, *, coarser: bool) -> Ints:
        """Per node, how many candidates are nowhere coarser than it, or nowhere finer."""
        crowd = np.bincount(self.place[self.bound < math.inf], minlength=len(self.status))
        self.library.discreet_add_up(
            _address(crowd), len(crowd), len(self.shape), _address(self.shape_array), int(coarser)
        )
        return crowd

    def climb(
        self, place: int, crowd: Ints, tables: Floats, need: float, reach: float, *, up: bool, enough: float = 0.0
    ) -> tuple[float, int]:
        """The way from a node over neighbours as long as more candidates are likely to be ruled out by a look."""
        way = self.way
        way.crowd, way.tables, way.need, way.reach = _address(crowd), _address(tables), need, reach
        way.up, way.enough = up, enough
        there = int(self.library.discreet_climb(self.at_way, place))
        return float(way.score), there
