"""The seam to the room that plans attacks: measures on the histogram do not know how an adversary decides."""

from __future__ import annotations

from typing import Any, Protocol

from discreet.kernel import Classes


class UnderAttack(Protocol):
    """What an adversary would do to a table (`discreet.attacker.Attacked`)."""

    @property
    def known(self) -> Any:
        """When he knows beforehand how many people look like each target."""
        ...

    @property
    def unknown(self) -> Any:
        """When he learns it only after buying the external table."""
        ...

    def to_dict(self, threshold: float) -> dict[str, Any]:
        """For JSON."""
        ...


class Adversary(Protocol):
    """Somebody who may attack a table (`discreet.attacker.Attack`)."""

    def on(
        self, sample: Classes, external: Classes, *, population: Classes | None = None, loss: float | str = 1.0
    ) -> UnderAttack:
        """What he would do to every class of people in the sample."""
        ...
