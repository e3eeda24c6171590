"""Index of the base records: every price of a pair within a millisecond."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ColumnError, EmptySource, IntegrityError, SourceNotFound, UsageError
from discreet.kernel import Coded
from discreet.linkage.masking.column_index import (
    ARRAYS,
    Array,
    AttributeIndex,
    CompatibleRecords,
    Constraint,
    Equal,
    Pattern,
    SharedPart,
    arrays,
    build,
)
from discreet.linkage.masking.compare import DateSwap, Declared, Rules
from discreet.linkage.masking.comparison import Comparison, Kind, Mode, Pair, State
from discreet.linkage.masking.icons import Icon, frequency
from discreet.linkage.masking.mask_leakage import Strictness
from discreet.linkage.masking.text import FORMATS


@dataclass(frozen=True)
class RevealStep:
    """What opening a cell further leads to."""

    mode: Mode
    state: State
    anonymity: tuple[int, int]
    """For both records, how many base records would be compatible."""
    contribution: Fraction
    """What the pair would contribute to the score."""


Step = RevealStep
"""The public name."""


@dataclass(frozen=True)
class Quote:
    """How a pair stands, and what each next step leads to."""

    anonymity: tuple[int, int]
    contribution: Fraction
    """What the pair contributes to the score: the sum over both records of (sum of p) / k."""
    steps: Mapping[str, RevealStep]
    """By attribute, where there is a next step."""

    def increase(self, attribute: str) -> Fraction:
        """By how much the next step raises the contribution of the pair."""
        step = self.steps.get(attribute)
        return Fraction(0) if step is None else step.contribution - self.contribution


@dataclass(frozen=True, eq=False, repr=False)
class Index:
    """Base records by attribute. Nothing in it changes, so that threads and processes may share it."""

    rules: Rules
    columns: tuple[AttributeIndex, ...]
    _strictness: list[Strictness] = field(default_factory=list)

    @classmethod
    def build(
        cls,
        records: Any,
        kinds: Mapping[str, Kind],
        *,
        swaps: Iterable[tuple[str, str]] = (),
        formats: Declared = FORMATS,
        normalise: Declared = (),
        names: Iterable[str] = (),
        date_swap: DateSwap = "digits",
    ) -> Index:
        """Lay out the records; two base tables are one list of records.

        >>> people = [{"name": "Mary"}, {"name": "Mark"}, {"name": "Mary"}]
        >>> index = Index.build(people, {"name": "string"})
        >>> pair = index.pair(0, 1)
        >>> index.quote(pair, pair.masked).steps["name"].anonymity
        (2, 1)
        """
        rules = Rules.of(kinds, swaps=swaps, formats=formats, normalise=normalise, names=names, date_swap=date_swap)
        coded = columns_of(records, rules.attributes)
        if not len(next(iter(coded.values())).codes):
            raise EmptySource("There is nobody in the base records.", remedy="Give at least one record.")
        return cls(
            rules,
            tuple(
                build(kind, coded[name], formats=rules.formats[j], normalise=rules.normalise[j])
                for j, (name, kind) in enumerate(zip(rules.attributes, rules.kinds, strict=True))
            ),
        )

    def __len__(self) -> int:
        return len(self.columns[0].codes)

    def __repr__(self) -> str:
        return f"Index({len(self):,} records, {', '.join(self.rules.attributes)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Index, (self.rules, self.columns)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(column.nbytes for column in self.columns)

    def values(self, record: int) -> tuple[str | None, ...]:
        """The identifying values of a record. Only for who may see them: comparison and the door that reveals."""
        return tuple(column.value(record) for column in self.columns)

    def pair(self, first: int, second: int) -> Pair:
        """Two base records side by side."""
        for record in (first, second):
            if not 0 <= record < len(self):
                raise UsageError(f"There is no base record {record}.", remedy=f"They are 0 to {len(self) - 1}.")
        if first == second:
            raise UsageError("A pair is two different base records.", remedy="Check the numbers of the pair.")
        cells, along = self.rules.compare(self.values(first), self.values(second))
        shown = tuple(self._frequencies(j, first, second, cell) for j, cell in enumerate(cells))
        return Pair((first, second), self.rules.attributes, cells, along, shown)

    def quote(self, pair: Pair, state: State, *, strict: bool = False) -> Quote:
        """How many base records are compatible with each row, now and after every next step, and what that costs.

        With `strict`, what the masked display itself gives away counts too.
        """
        pair.check(state)
        steps = {
            name: (mode, pair.opened(state, name, mode))
            for name in pair.attributes
            if (mode := pair.next_mode(state, name)) is not None
        }
        counted = [self._count(pair, row, state, [after for _, after in steps.values()], strict) for row in (0, 1)]
        now, *later = zip(*counted, strict=True)
        return Quote(
            now,
            contribution(pair, state, now),
            {
                name: RevealStep(mode, after, found, contribution(pair, after, found))
                for (name, (mode, after)), found in zip(steps.items(), later, strict=True)
            },
        )

    def anonymity(self, pair: Pair, state: State, *, strict: bool = False) -> tuple[int, int]:
        """For both rows, how many base records are compatible with what is disclosed."""
        pair.check(state)
        return self._count(pair, 0, state, [], strict)[0], self._count(pair, 1, state, [], strict)[0]

    def _count(self, pair: Pair, row: int, state: State, later: list[State], strict: bool) -> list[int]:
        """Compatible base records of a row, in a state and in states that open it further."""
        now = CompatibleRecords.of(self._constraints(pair, row, state, None, strict), len(self))
        return [len(now), *(now.count(self._constraints(pair, row, after, state, strict)) for after in later)]

    def _constraints(self, pair: Pair, row: int, state: State, since: State | None, strict: bool) -> list[Constraint]:
        """What the cells of a row say, or those of them that are open further than before."""
        changed = (j for j, mode in enumerate(state) if since is None or mode != since[j])
        find = self.strictness.constraint if strict else self._constraint
        found = (find(pair, row, j, state[j]) for j in changed)
        return [one for one in found if one is not None]

    def _constraint(self, pair: Pair, row: int, j: int, mode: Mode) -> Constraint | None:
        """The rule of compatibility (spec of the score): what one cell says about the record behind it."""
        if mode == "masked":
            return None
        column, cell = self.columns[j], pair.cells[j]
        if mode == "full":
            return Equal(column, int(column.codes[pair.records[row]]))
        if cell.equal:
            return SharedPart(column)
        side = cell.sides[row]
        return Pattern(column, side.total, [(place, column.unit_codes[unit]) for place, unit in side.shown])

    @property
    def strictness(self) -> Strictness:
        """What the masked display gives away; prepared when it is first asked for."""
        if not self._strictness:
            self._strictness.append(Strictness(self.rules, self.columns))
        return self._strictness[0]

    def _frequencies(self, j: int, first: int, second: int, cell: Comparison) -> tuple[Icon, Icon] | None:
        column = self.columns[j]
        if not self.rules.names[j] or cell.left.value is None or cell.right.value is None:
            return None
        return (
            frequency(int(column.counts[column.codes[first]])),
            frequency(int(column.counts[column.codes[second]])),
        )


def contribution(pair: Pair, state: State, anonymity: tuple[int, int]) -> Fraction:
    """What a pair contributes to the score: (sum of p) / k of both rows, added up."""
    first, second = pair.shares(state)
    return first / anonymity[0] + second / anonymity[1]


# An index in a folder, mapped into memory: opened in milliseconds, and shared by all processes that read it.
#
# The folder holds identifying values, like the tables it was built from, and is made readable to its owner only.
VERSION = 1
HEAD = "index.json"


def save_index(index: Index, folder: str | Path) -> Path:
    """Write an index to a folder that does not exist yet, or is empty."""
    target = Path(folder)
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise UsageError(f"Folder {target} is not empty.", remedy="Name a new folder for the index.")
    columns = []
    for place, column in enumerate(index.columns):
        same = column.spelt is column.codes
        for name, array in arrays(column).items():
            if name != "spelt" or not same:
                np.save(_file(target, place, name), array, allow_pickle=False)
        columns.append({"alphabet": column.alphabet, "missing": column.missing, "one_spelling": same})
    head = {"version": VERSION, "records": len(index), "rules": index.rules.to_dict(), "columns": columns}
    (target / HEAD).write_text(json.dumps(head), encoding="utf-8")  # last: without it the folder is no index
    return target


def load_index(folder: str | Path, *, mapped: bool = True) -> Index:
    """Open the index of a folder; unless `mapped`, read it into the memory of this process."""
    source = Path(folder)
    try:
        head = json.loads((source / HEAD).read_text(encoding="utf-8"))
        if head["version"] != VERSION:
            raise UsageError("The index was written by another version of Discreet.", remedy="Build it again.")
        columns = tuple(_column(source, place, one, mapped) for place, one in enumerate(head["columns"]))
        index = Index(Rules.from_dict(head["rules"]), columns)
    except FileNotFoundError:
        raise SourceNotFound(f"There is no whole index in {source}.", remedy="Build it, and save it there.") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise IntegrityError(f"The index in {source} is not as it was written.", remedy="Build it again.") from None
    if any(len(column.codes) != head["records"] for column in columns):
        raise IntegrityError(f"The index in {source} is not as it was written.", remedy="Build it again.")
    return index


def _column(source: Path, place: int, head: dict[str, object], mapped: bool) -> AttributeIndex:
    found: dict[str, Array] = {}
    for name in ARRAYS:
        if name == "spelt" and head["one_spelling"]:
            continue
        # An empty file cannot be mapped; asarray takes the wrapper off, which would slow every step down.
        path = _file(source, place, name)
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            shape, _, _ = np.lib.format.read_array_header_1_0(file) if version == (1, 0) else ((1,), False, None)
        read = np.load(path, allow_pickle=False)[:0] if (0 in shape) else _read(path, mapped)
        found[name] = np.asarray(read)
    found.setdefault("spelt", found["codes"])
    alphabet, missing = head["alphabet"], head["missing"]
    return AttributeIndex(**found, alphabet=tuple(map(str, alphabet)), missing=int(str(missing)))  # type: ignore[call-overload]


def _read(path: Path, mapped: bool) -> Array:
    return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)  # type: ignore[no-any-return]


def _file(folder: Path, place: int, name: str) -> Path:
    return folder / f"{place}-{name}.npy"


# The one file of the comparison that opens tables: everything else is handed coded columns.
def columns_of(records: Any, names: Sequence[str]) -> dict[str, Coded]:
    """Some columns of records: dictionaries, columns, a frame, Arrow, a path, or a table that was read.

    A key that a dictionary does not have is a missing value; a column that no record has is an error.
    """
    if isinstance(records, Mapping):
        return {name: _coded(_required(records, name)) for name in names}
    if isinstance(records, Sequence) and not isinstance(records, str | bytes):
        return {name: _of_rows(records, name) for name in names}
    match type(records).__module__.partition(".")[0]:
        case "pandas":
            return {name: _pandas(_required(records, name)) for name in names}
        case "polars":
            frame = records.collect() if type(records).__name__ == "LazyFrame" else records
            return {name: Coded.of(_required(frame, name, frame.columns).to_list()) for name in names}
        case "pyarrow":
            return {name: _arrow(records, name) for name in names}
    from discreet.sources import Table, read
    from discreet.sources.table import fetch

    return fetch(records if isinstance(records, Table) else read(records), names)


def _required(table: Any, name: str, names: Any = None) -> Any:
    if name not in (table if names is None else names):
        raise _no_column(name)
    return table[name]


def _of_rows(rows: Sequence[Any], name: str) -> Coded:
    if not all(isinstance(row, Mapping) for row in rows):
        raise ColumnError("A list of records holds something that is no dictionary.", remedy="Give one per record.")
    if rows and not any(name in row for row in rows):
        raise _no_column(name)
    return Coded.of([row.get(name) for row in rows])


def _coded(cells: Any) -> Coded:
    if isinstance(cells, Coded):
        return cells
    return Coded.of(cells.tolist() if isinstance(cells, np.ndarray) and cells.dtype.kind != "M" else list(cells))


def _pandas(column: Any) -> Coded:
    if hasattr(column, "cat"):
        values = [*column.cat.categories, None]
        codes = column.cat.codes.to_numpy().astype(np.int64)
        return Coded.merged(values, np.where(codes < 0, len(values) - 1, codes))
    return Coded.of(column.tolist())


def _arrow(table: Any, name: str) -> Coded:
    from discreet.sources.files import coded

    if name not in table.schema.names:
        raise _no_column(name)
    return coded(table.column(name))


def _no_column(name: str) -> ColumnError:
    return ColumnError(f"The records have no column '{name}'.", remedy="Check the names in kinds.")
