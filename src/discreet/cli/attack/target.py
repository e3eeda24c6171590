"""What is attacked: a table and the list of named people, both counted."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.cli import console
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.sources import Table, read


@dataclass(frozen=True, eq=False)
class Target:
    """A table, who looks alike in it, and who looks alike in the list he can buy."""

    table: Table
    sample: Classes
    external: Classes
    listed: Table | None
    """The list, where it is another table."""


def target(source: str, policy_file: str | None, external: str | None) -> Target:
    """Count both tables."""
    if policy_file is None:
        raise UsageError("DATA needs a policy.", remedy="Give --policy FILE; discreet policy init DATA drafts one.")
    policy = Policy.load(policy_file)
    table = read(source, policy=policy)
    with console.working(f"Counting people who look alike in {table.name}"):
        sample = table.classes()
        listed = None if external is None else read(external, policy=policy.for_population())
        return Target(table, sample, sample if listed is None else listed.classes(sample.names), listed)
