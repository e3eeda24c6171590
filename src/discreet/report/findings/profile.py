"""What a profile means: identifiers, telling combinations, and what a person has to confirm."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.report.findings.finding import Finding
from discreet.report.toolkit.words import listed, lowered, part, people, plural
from discreet.risk import Combination, Profile


def profile_findings(profile: Profile) -> tuple[Finding, ...]:
    """The findings of a profile in words, the most telling first."""
    return (*_telling(profile), _identifiers(profile), _minimal(profile), _confirm(profile))


def _telling(profile: Profile) -> tuple[Finding, ...]:
    if not profile.telling:
        return ()
    best = max(profile.telling, key=lambda one: one.unique)
    if best.unique == 0:
        reach = plural(profile.singling_out.largest, "column", "columns")
        return (
            Finding(
                f"No combination of up to {reach} singles out any of the {profile.records:,} people.",
                "Look at larger combinations before you rely on it: `--largest`.",
            ),
        )
    return (Finding(f"{_singles_out(best, profile.records)}{_compared(profile, best)}.", _first(best)),)


def _singles_out(one: Combination, records: int) -> str:
    return f"{_together(one.columns)} {lowered(part(one.unique, records))}"


def _together(columns: Sequence[str]) -> str:
    return f"{listed(columns)} {'alone singles' if len(columns) == 1 else 'together single'} out"


def _compared(profile: Profile, best: Combination) -> str:
    single = profile.telling[0]
    if len(best.columns) == 1 or len(single.columns) > 1:
        return ""
    return f"; the most telling column by itself, {single.columns[0]}, singles out {people(single.unique)}"


def _first(best: Combination) -> str:
    return (
        f"Generalise {'it' if len(best.columns) == 1 else 'these'} first; an adversary needs nothing else than "
        f"{listed(best.columns)} to recognise these people."
    )


def _identifiers(profile: Profile) -> Finding:
    names = [column.name for column in profile.columns if column.role == "identifier"]
    total = plural(len(profile.columns), "column", "columns")
    if not names:
        return Finding(
            f"None of the {total} looks like an identifier (a column that names a person by itself).",
            "Confirm it: numbers given out by your own systems are easily overlooked.",
        )
    verb = "looks like an identifier" if len(names) == 1 else "look like identifiers"
    return Finding(
        f"{len(names):,} of {total} {verb} (naming a person without any other column): {listed(names)}.",
        'Give the role "identifier" in the policy, so that it is never published.'
        if len(names) == 1
        else 'Give each the role "identifier" in the policy, so that they are never published.',
    )


def _minimal(profile: Profile) -> Finding:
    found = sorted(profile.minimal_unique, key=len)
    reach = plural(profile.singling_out.largest, "column", "columns")
    if not found:
        return Finding(
            f"No combination of up to {reach} tells all {profile.records:,} people apart.",
            "Larger combinations may; assess the columns that an adversary can know together.",
        )
    number = plural(len(found), "combination", "combinations")
    return Finding(
        f"{number} of columns {'tells' if len(found) == 1 else 'tell'} all {profile.records:,} people apart; the "
        f"shortest is {listed(found[0])}.",
        "Never publish such a combination as it is: leave out or generalise one column of each.",
    )


def _confirm(profile: Profile) -> Finding:
    doubtful = [column.name for column in profile.columns if column.role == "other"]
    many = len(profile.columns)
    roles = f"The roles of all {many:,} columns are guesses" if many > 1 else "The role of the only column is a guess"
    counted = f"; for {listed(doubtful)} nothing pointed to a role" if doubtful else ""
    return Finding(
        f"{roles} from names and values{counted}.",
        "Confirm them: draft a policy with `discreet policy init`, and correct what an adversary could know.",
    )
