"""What a node of the lattice comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from discreet.anonymity.lattice.problem import Node
from discreet.kernel.arrays import Ints


@dataclass(frozen=True, eq=False)
class Outcome:
    """The classes at one node, summed up exactly: all that any loss needs."""

    node: Node
    suppressed: int
    """People in classes that may not be published."""
    kept: int
    """Classes that may."""
    squares: int
    """Sum of squared sizes of all classes."""
    kept_squares: int
    """Sum of squared sizes of the classes that may be published."""
    count_hidden: Callable[[], tuple[Ints, ...]]

    @cached_property
    def hidden(self) -> tuple[Ints, ...]:
        """Per column, the suppressed people by the code that stands for their value; counted when first asked for."""
        return self.count_hidden()
