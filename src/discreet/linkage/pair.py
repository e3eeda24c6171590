"""Two records side by side: their cells, the state in which each cell is, and what can be opened next."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UsageError
from discreet.linkage.comparison import Comparison
from discreet.linkage.masking.comparison import MODES, Mode
from discreet.linkage.masking.icons import Mark

State = tuple[Mode, ...]
"""The mode of each cell, in the order of the attributes."""


@dataclass(frozen=True)
class Pair:
    """The cells of two base records. The repr holds no value."""

    records: tuple[int, int]
    attributes: tuple[str, ...]
    cells: tuple[Comparison, ...]
    along: tuple[int | None, ...]
    """For each cell the place of the one that opens along with it: names that changed places."""
    frequencies: tuple[tuple[Mark, Mark] | None, ...]
    """For each cell how common the values of both records are, where that is shown and they are there."""

    @property
    def masked(self) -> State:
        """The state in which nothing is open."""
        return tuple(MODES[0] for _ in self.cells)

    def place(self, attribute: str) -> int:
        """The place of an attribute."""
        if attribute not in self.attributes:
            raise UsageError(
                f"No attribute '{attribute}' is shown.", remedy=f"There are: {', '.join(self.attributes)}."
            )
        return self.attributes.index(attribute)

    def cell(self, attribute: str) -> Comparison:
        """The cell of an attribute."""
        return self.cells[self.place(attribute)]

    def next_mode(self, state: State, attribute: str) -> Mode | None:
        """What the next step opens: partial, full or nothing more."""
        place = self.place(attribute)
        return self.cells[place].next_mode(state[place])

    def opened(self, state: State, attribute: str, mode: Mode) -> State:
        """The state after opening a cell so. What was seen stays seen: opening less than is open changes nothing."""
        place = self.place(attribute)
        check_mode(mode)
        if not self.cells[place].takes(mode):
            raise UsageError(
                f"Attribute '{attribute}' has no partial mode in this pair.", remedy="Open it in full, or not at all."
            )
        return self._with(state, place, mode)

    def all_opened(self, state: State, mode: Mode) -> State:
        """The state after opening every cell so; cells without a partial mode stay as they are."""
        check_mode(mode)
        for place, cell in enumerate(self.cells):
            if mode != "partial" or cell.has_partial:
                state = self._with(state, place, mode)
        return state

    def check(self, state: State) -> None:
        """Stop if this is no state of these cells."""
        for place, mode in enumerate(state):
            check_mode(mode)
            along = self.along[place]
            if not self.cells[place].takes(mode) or (along is not None and state[along] != mode):
                raise UsageError("A cell cannot be in that mode.", remedy="Make states with `opened`.")
        if len(state) != len(self.cells):
            raise UsageError("A state has one mode per attribute.", remedy="Make states with `opened`.")

    def disclosed(self, state: State) -> int:
        """How many characters of both records are shown."""
        return sum(side.disclosed(mode) for cell, mode in zip(self.cells, state, strict=True) for side in cell.sides)

    @property
    def characters(self) -> int:
        """How many characters both records have."""
        return sum(side.total for cell in self.cells for side in cell.sides)

    def shares(self, state: State) -> tuple[Fraction, Fraction]:
        """For each record the sum over its attributes of the share of characters shown."""
        first, second = Fraction(0), Fraction(0)
        for cell, mode in zip(self.cells, state, strict=True):
            if mode != "masked":
                first += cell.left.share(mode)
                second += cell.right.share(mode)
        return first, second

    def _with(self, state: State, place: int, mode: Mode) -> State:
        changed = list(state)
        for one in (place, self.along[place]):
            if one is not None and MODES.index(mode) > MODES.index(changed[one]):
                changed[one] = mode
        return tuple(changed)


def check_mode(mode: str) -> None:
    """Stop with advice if there is no such mode."""
    if mode not in MODES:
        raise UsageError(f"No mode is called '{mode}'.", remedy=f"There are: {', '.join(MODES)}.")
