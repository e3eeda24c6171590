"""Index of the base records: the price of every next step of a pair, in a millisecond."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import EmptySource, IntegrityError, SourceNotFound, UsageError
from discreet.linkage.masking.columns import ARRAYS, Array, AttributeIndex, arrays, build, columns_of
from discreet.linkage.masking.comparison import DateSwap, Kind, Mode
from discreet.linkage.masking.compatibility import CompatibleRecords, Constraint, Strictness, plain_constraint
from discreet.linkage.masking.record_pair import Declared, Pair, Rules, State
from discreet.linkage.masking.text import FORMATS, frequency


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
    """What a pair discloses, and what each next step leads to."""

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
        frequencies = tuple(
            (frequency(int(column.counts[column.codes[first]])), frequency(int(column.counts[column.codes[second]])))
            if is_name and cell.left.value is not None and cell.right.value is not None
            else None
            for is_name, column, cell in zip(self.rules.names, self.columns, cells, strict=True)
        )
        return Pair((first, second), self.rules.attributes, cells, along, frequencies)

    def quote(self, pair: Pair, state: State, *, strict: bool = False) -> Quote:
        """Compatible base records of each row, now and after every next step, and the costs.

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
        changed = [j for j, mode in enumerate(state) if since is None or mode != since[j]]
        if strict:
            return [self.strictness.constraint(pair, row, j, state[j]) for j in changed]
        constraints = (plain_constraint(self.columns, pair, row, j, state[j]) for j in changed)
        return [constraint for constraint in constraints if constraint is not None]

    @property
    def strictness(self) -> Strictness:
        """What the masked display gives away; prepared when it is first asked for."""
        if not self._strictness:
            self._strictness.append(Strictness(self.rules, self.columns))
        return self._strictness[0]


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
    columns: list[AttributeIndex] = []
    try:
        head = json.loads((source / HEAD).read_text(encoding="utf-8"))
        if head["version"] != VERSION:
            raise UsageError("The index was written by another version of Discreet.", remedy="Build it again.")
        for place, about in enumerate(head["columns"]):
            stored: dict[str, Array] = {}
            for name in ARRAYS:
                if name != "spelt" or not about["one_spelling"]:
                    array = np.load(_file(source, place, name), mmap_mode="r" if mapped else None, allow_pickle=False)
                    stored[name] = np.asarray(array)  # takes the wrapper off, which would slow every step down
            stored.setdefault("spelt", stored["codes"])
            alphabet = tuple(map(str, about["alphabet"]))
            columns.append(AttributeIndex(**stored, alphabet=alphabet, missing=int(about["missing"])))
        index = Index(Rules.from_dict(head["rules"]), tuple(columns))
    except FileNotFoundError:
        raise SourceNotFound(f"There is no whole index in {source}.", remedy="Build it, and save it there.") from None
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        raise IntegrityError(f"The index in {source} is not as it was written.", remedy="Build it again.") from None
    if any(len(column.codes) != head["records"] for column in columns):
        raise IntegrityError(f"The index in {source} is not as it was written.", remedy="Build it again.")
    return index


def _file(folder: Path, place: int, name: str) -> Path:
    return folder / f"{place}-{name}.npy"
