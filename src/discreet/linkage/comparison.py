"""A pair of values in its three modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.linkage.masking.comparison import Mode, Piece, Side
from discreet.linkage.masking.icons import Mark

Kind = Literal["string", "fixed", "date", "category"]
KINDS: tuple[Kind, ...] = ("string", "fixed", "date", "category")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A pair of values. Only `partial`, `text` and `pieces` hold characters of them; the repr does not."""

    kind: Kind
    left: Side
    right: Side
    equal: bool
    """Both are there and the same."""
    markup: tuple[Mark, ...]
    """The icons, with words."""
    has_partial: bool
    """Whether there is something between masked and full."""

    @property
    def masked(self) -> tuple[str, str]:
        """What is seen before anything is opened."""
        return self.text("masked")

    @property
    def partial(self) -> tuple[str, str] | None:
        """The differing characters in clear, the others as stars; None where there is no partial mode."""
        return self.text("partial") if self.has_partial else None

    @property
    def full(self) -> tuple[str, str]:
        """Both values; a missing one is '?'."""
        return self.text("full")

    @property
    def hides(self) -> bool:
        """Whether opening it in full would show anything."""
        return self.left.value is not None or self.right.value is not None

    @property
    def sides(self) -> tuple[Side, Side]:
        """The halves of both records."""
        return self.left, self.right

    def text(self, mode: Mode) -> tuple[str, str]:
        """What is seen of both in a mode; in part no more than masked where there is no partial mode."""
        seen = self._seen(mode)
        return self.left.text(seen), self.right.text(seen)

    def pieces(self, mode: Mode) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """What is seen of both in a mode, as runs of characters of one kind."""
        seen = self._seen(mode)
        return self.left.pieces(seen), self.right.pieces(seen)

    def takes(self, mode: Mode) -> bool:
        """Whether it can be opened so; in part also where the values agree, which shows that they are not unique."""
        return mode != "partial" or self.has_partial or self.equal

    def next_mode(self, mode: Mode) -> Mode | None:
        """What the next step opens. Where values agree the partial view shows nothing, so that step is skipped."""
        if mode == "masked" and self.has_partial and not self.equal:
            return "partial"
        return None if mode == "full" else "full"

    def _seen(self, mode: Mode) -> Mode:
        return "masked" if mode == "partial" and not self.has_partial else mode

    def __repr__(self) -> str:
        return f"Comparison({self.kind}, {', '.join(mark.name for mark in self.markup)})"
