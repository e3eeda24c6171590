"""A plan in words: what would be released, what it costs, and how well a leak could be traced."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.releases.planning import Plan


def words_of(plan: Plan) -> tuple[str, ...]:
    """One sentence per thing that a custodian decides on."""
    return tuple(_sentences(plan))


def _sentences(plan: Plan) -> Iterator[str]:
    linked, marking = plan.node.linked, plan.marking
    levels = ", ".join(f"{name} {level}" for name, level in plan.levels.items())
    yield (
        f"{linked.released.records:,} of {linked.records:,} people can be released in {len(linked.released):,} classes at "
        f"levels {levels}; {plan.node.suppressed:,} are left out. {plan.node.requirements[0].capitalize()}."
    )
    decoys = int(marking.marks.decoy.sum())
    yield (
        f"{len(marking.marks):,} marks: {len(marking.marks) - decoys:,} real classes that a copy may lack, and {decoys:,} "
        f"made-up ones that it may hold, out of {marking.pairs:,} pairs that look alike to whoever knows the population."
    )
    yield (
        f"A copy lacks {marking.rows_lost:.1%} of the released rows on average, hardly ever more than "
        f"{marking.most_lost:.1%}, however many recipients there are."
    )
    column, most = max(marking.shifts.items(), key=lambda shift: shift[1])
    yield f"No value of a quasi-identifier changes its share by more than {most:.2%} ({column}) in an average copy."
    gate = marking.gate
    yield (
        f"A classifier that tries to tell made-up classes from real ones gets an AUC of {gate.auc:.2f}; 0.5 is guessing, and "
        f"up to {gate.floor:.2f} is luck."
    )
