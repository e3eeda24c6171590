"""How two values of each kind are compared: Splink's comparison levels, from most to least alike.

Two levels are not steps of likeness. A month and a day that are swapped are one slip. First and last name that are
swapped are one slip too, not two: it counts in the comparison of the one, and says nothing in that of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.linkage.matching.blocking import Rule
from discreet.linkage.records.folder import ProjectFolder
from discreet.linkage.records.spec import Attribute, LinkageSpec

SWAPPED_NAMES = "names swapped"
SWAPPED_DAY = "day and month swapped"
ALIKE = (15, 25, 40)
"""Damerau-Levenshtein distances of strings, in per cent of the longer one. Jaro-Winkler finds as much on the FEBRL tables,
but DuckDB and Spark differ in it: one counts half a transposition, the other rounds it down."""
EDITS = (1, 2)
"""Damerau-Levenshtein distances of IDs and dates."""


def comparison_settings(folder: ProjectFolder, rules: Sequence[Rule], *, prior: float) -> Any:
    """Splink's settings for a project that is not trained yet."""
    from splink import SettingsCreator

    return SettingsCreator(
        link_type="link_only" if folder.two else "dedupe_only",
        comparisons=[
            _comparison(place, attribute, folder.spec) for place, attribute in enumerate(folder.spec.attributes)
        ],
        blocking_rules_to_generate_predictions=[blocking_rule(rule, folder.spec) for rule in rules],
        probability_two_random_records_match=prior,
        retain_matching_columns=False,
        max_iterations=50,
        linker_uid="discreet",
    )


def blocking_rule(rule: Rule, spec: LinkageSpec) -> Any:
    """A rule as Splink writes it."""
    from splink import block_on
    from splink.internals.blocking_rule_library import CustomRule

    columns = [f"a{spec.names.index(name)}" for name in rule.attributes]
    if rule.crossed:
        a, b = columns
        return CustomRule(f"l.{a} = r.{b} AND l.{b} = r.{a} AND l.{a} <> r.{a}")
    return block_on(*columns)


def _comparison(place: int, attribute: Attribute, spec: LinkageSpec) -> Any:
    import splink.comparison_level_library as levels
    import splink.comparison_library as library

    column = f"a{place}"
    steps = [levels.NullLevel(column), _exact(column, attribute), *_near(column, attribute), levels.ElseLevel()]
    if spec.swap is not None and attribute.name in spec.swap:
        crossed = levels.CustomLevel(_crossed(spec), SWAPPED_NAMES)
        counts = attribute.name == spec.swap[0]
        steps.insert(1, crossed if counts else crossed.configure(is_null_level=True))
    return library.CustomComparison(steps, output_column_name=column)


def _crossed(spec: LinkageSpec) -> str:
    a, b = (f"a{spec.names.index(name)}" for name in spec.swap or ())
    return f"{a}_l = {b}_r AND {b}_l = {a}_r AND {a}_l <> {a}_r"


def _exact(column: str, attribute: Attribute) -> Any:
    """Agreeing on a rare value says more. A birthday is as rare as any other."""
    import splink.comparison_level_library as levels

    exact = levels.ExactMatchLevel(column)
    return exact if attribute.kind == "date" else exact.configure(tf_adjustment_column=column)


def _near(column: str, attribute: Attribute) -> list[Any]:
    import splink.comparison_level_library as levels

    if attribute.kind == "string":
        longer = f"greatest(length({column}_l), length({column}_r))"
        distance = f"damerau_levenshtein({column}_l, {column}_r)"
        return [
            levels.CustomLevel(f"100 * {distance} <= {share} * {longer}", f"{share} % of the letters differ")
            for share in ALIKE
        ]
    if attribute.kind == "category":
        return []
    edits = [levels.DamerauLevenshteinLevel(column, edit) for edit in EDITS]
    swapped = (
        f"substr({column}_l, 1, 4) = substr({column}_r, 1, 4) AND substr({column}_l, 6, 2) = substr({column}_r, 9, 2) "
        f"AND substr({column}_l, 9, 2) = substr({column}_r, 6, 2) AND {column}_l <> {column}_r"
    )
    return [levels.CustomLevel(swapped, SWAPPED_DAY), *edits] if attribute.kind == "date" else edits
