"""Splink model (Fellegi-Sunter): comparison levels, training, repair of parameters, scoring.

u (how often strangers agree) comes from random pairs, m (how often the records of one person agree) from expectation
maximisation among the pairs of a few rules; the share of true pairs among all is then found so that it agrees with the
probabilities it leads to.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DataError, UsageError
from discreet.kernel.arrays import Floats
from discreet.kernel.serialise import json_of
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.backends import Backend, DuckDBBackend, linker, ordered, quietly
from discreet.linkage.matching.blocking import Blocking, Rule, suggest_rules
from discreet.linkage.matching.keys import LONG, column_of
from discreet.linkage.matching.pairs import Labels, Pairs, probability_of
from discreet.linkage.matching.thresholds import pooled
from discreet.linkage.spec import Attribute, LinkageSpec

RANDOM_PAIRS = 300_000
TRAINING_PAIRS = 5_000_000
ROUNDS = 200
SURE = 0.99
"""From this probability on, a pair that nobody looked at counts as a true one when labels re-estimate m."""
MOST_PAIRS_OF_A_LABEL = 1000
"""The most pairs that one label may count for."""


@dataclass(frozen=True)
class Model:
    """A trained model: Splink's settings, which hold no value of a person, and how it came about."""

    settings: dict[str, Any]
    blocking: Blocking
    seed: int
    trained_on: tuple[Rule, ...]
    labels: int = 0
    """How many labels went into it."""

    @property
    def prior(self) -> float:
        """The share of true pairs among all possible pairs."""
        return float(self.settings["probability_two_random_records_match"])

    to_dict = json_of(
        "seed labels recall=blocking.recall agreement=blocking.agreement most_pairs=blocking.most_pairs "
        "rules=blocking.rules whole=blocking.whole chance=blocking.chance trained_on splink=settings"
    )

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Model:
        """A model from what `to_dict` gave."""
        rules, whole, trained = (
            tuple(Rule(**{**rule, "attributes": tuple(rule["attributes"])}) for rule in content[key])
            for key in ("rules", "whole", "trained_on")
        )
        blocking = Blocking(
            rules, content["recall"], content["agreement"], content["most_pairs"], whole, content["chance"]
        )
        return cls(content["splink"], blocking, content["seed"], trained, content["labels"])

    def save(self, path: Path) -> Path:
        """Write it as JSON."""
        path.write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> Model:
        """A model that was saved."""
        if not path.is_file():
            raise UsageError("There is no model yet.", remedy="Train one with: discreet link pairs PROJECT")
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))

    def __repr__(self) -> str:
        return f"Model({len(self.settings['comparisons'])} attributes, {len(self.blocking.rules)} rules, {self.labels} labels)"


def train(
    folder: ProjectFolder, *, blocking: Blocking | None = None, seed: int = 1, backend: Backend | None = None
) -> Model:
    """Train a model, the same for the same project, rules and seed."""
    return train_and_score(folder, blocking=blocking, seed=seed, backend=backend)[0]


def train_and_score(
    folder: ProjectFolder, *, blocking: Blocking | None = None, seed: int = 1, backend: Backend | None = None
) -> tuple[Model, Pairs]:
    """A trained model, and the pairs that it has scored on the way."""
    desk = backend or DuckDBBackend(folder)
    counting = desk if isinstance(desk, DuckDBBackend) else DuckDBBackend(folder)
    rules = blocking or suggest_rules(folder, backend=counting)
    sessions = training_rules(folder, rules.whole)
    # A first guess of the number of true pairs: those of the most selective rule, by what it is estimated to find.
    known = [rule for rule in rules.rules if rule.recall]
    likely = min((rule.pairs / (rule.recall or 1) for rule in known), default=float(folder.records) / 2)
    start = min(0.5, max(len(sessions), likely) / max(folder.possible_pairs, 1))
    with quietly("train a model on these records"):
        model = linker(desk, comparison_settings(folder, rules.rules, prior=start))
        model.training.estimate_u_using_random_sampling(
            max_pairs=RANDOM_PAIRS, seed=seed, min_count_per_level=None, num_chunks=1
        )
        for rule in sessions:
            model.training.estimate_parameters_using_expectation_maximisation(
                blocking_rule(rule, folder.spec), max_pairs=TRAINING_PAIRS if rule.pairs > TRAINING_PAIRS else None
            )
        raw = model.misc.save_model_to_json()
    for comparison, name in zip(raw["comparisons"], folder.spec.names, strict=True):
        take_chance(comparison["comparison_levels"], rules.chance[name])
    settings = settled(raw, prior=start, possible=folder.possible_pairs)
    return _consistent(folder, Model(settings, rules, seed, sessions), desk)


def take_chance(levels: list[dict[str, Any]], chance: float) -> None:
    """Take over how often two records agree, as counted; other levels share the rest."""
    others = [
        level for level in levels if not level.get("is_null_level") and "Exact match" not in level["label_for_charts"]
    ]
    rest = sum(_number(level.get("u_probability")) for level in others)
    for level in levels:
        if "Exact match" in level["label_for_charts"]:
            level["u_probability"] = chance
    for level in others:
        level["u_probability"] = _number(level.get("u_probability")) * (1 - chance) / (rest or 1)


def score_pairs(folder: ProjectFolder, model: Model, *, backend: Backend | None = None) -> Pairs:
    """Every pair that a rule makes, with its weight and probability."""
    return weakened(_scored(folder, model, backend or DuckDBBackend(folder)))


def _scored(folder: ProjectFolder, model: Model, desk: Backend) -> Pairs:
    settings = settings_on(folder, model, desk.dialect)
    with quietly("score the pairs"):
        found = desk.fetch(
            linker(desk, {**settings, "retain_intermediate_calculation_columns": True}).inference.predict(
                warning_mode="never"
            ),
            f"CAST({relatives_condition(folder.spec, settings)} AS BOOLEAN) AS relatives",
        )
    first, second, weight, relatives = ordered(found)
    return replace(Pairs.of(first, second, weight), relatives=np.asarray(relatives, dtype=np.bool_))


# Relatives, twins and namesakes agree on many attributes for one reason, which the model, to which attributes are
# independent, takes for as many reasons. Whether such a pair is one person cannot be told from its own values, so however
# much speaks for it, the machine is not sure of it.
UNSURE = 3.0
"""At most so many bits speak for a pair that may be two people of one household: eight to one."""


def weakened(pairs: Pairs) -> Pairs:
    """Pairs of which possible relatives keep their order, but not their certainty.

    >>> from dataclasses import replace
    >>> pairs = replace(Pairs.of([0, 1], [2, 3], [20.0, 20.0]), relatives=np.array([True, False]))
    >>> weakened(pairs).probability.round(3).tolist()
    [0.859, 1.0]
    """
    unsure = pairs.relatives & (pairs.weight > 0)
    weight = np.where(unsure, UNSURE * pairs.weight / (pairs.weight + UNSURE), pairs.weight)
    return replace(pairs, weight=weight, probability=probability_of(weight))


def relatives_condition(spec: LinkageSpec, settings: dict[str, Any]) -> str:
    """Whether a scored pair may be two people of one household, in SQL.

    A personal attribute (given name, birth date) differs as a whole, or all of them are missing, and no number that only
    one person has is the same: one whose agreement alone outweighs how rare true pairs are. How much the difference
    speaks against the pair does not count: where there are many relatives, the model has learnt that it says little.
    """
    differs, missing, numbers = [], [], []
    rarity = -np.log2(settings["probability_two_random_records_match"])
    for place, (attribute, comparison) in enumerate(zip(spec.attributes, settings["comparisons"], strict=True)):
        levels = [level for level in comparison["comparison_levels"] if "m_probability" in level]
        weights = [float(np.log2(level["m_probability"] / level["u_probability"])) for level in levels]
        if attribute.name in spec.personal:
            differs.append(f"mw_a{place} <= {weights[-1] + APART / 2}")
            missing.append(f"mw_a{place} = 0")
        elif attribute.kind == "fixed" and attribute.clean != "phone" and weights[0] >= rarity:
            numbers.append(f"mw_a{place} >= {weights[0] - APART / 2}")
    suspected = " OR ".join([*differs, f"({' AND '.join(missing)})"]) if differs else "FALSE"
    return f"({suspected}) AND NOT ({' OR '.join(numbers)})" if numbers else suspected


def settings_on(folder: ProjectFolder, model: Model, dialect: str) -> dict[str, Any]:
    """The model as Splink takes it on a database: the same numbers, statements in its own dialect."""
    written = comparison_settings(folder, model.blocking.rules, prior=model.prior)
    return _with(written.create_settings_dict(dialect), model.settings, "m_probability", "u_probability")


def retrain(
    folder: ProjectFolder, model: Model, labels: Labels, pairs: Pairs, *, backend: Backend | None = None
) -> Model:
    """A model whose m is estimated again from labels."""
    return retrain_and_score(folder, model, labels, pairs, backend=backend)[0]


def retrain_and_score(
    folder: ProjectFolder, model: Model, labels: Labels, pairs: Pairs, *, backend: Backend | None = None
) -> tuple[Model, Pairs]:
    """Estimate m again from pairs that people called the same, with Splink's estimate from labels.

    Labelled pairs are mostly unsure ones, from which alone m would be far too low. So pairs above 99 % that nobody
    labelled count as well, and a label that counts for several pairs is repeated as often.
    """
    asked = pairs.labelled(labels.pairs, folder.records)
    sure = pairs.where((pairs.probability >= SURE) & ~asked)
    times = np.clip(np.round(labels.weights[labels.same]), 1, MOST_PAIRS_OF_A_LABEL).astype(np.int64)
    said = labels.pairs.where(labels.same)
    true = Pairs.of(
        np.concatenate([sure.first, np.repeat(said.first, times)]),
        np.concatenate([sure.second, np.repeat(said.second, times)]),
        np.zeros(len(sure) + int(times.sum())),
    )
    if not len(true):
        raise DataError("No label says that two records are one person.", remedy="Label more pairs, then train again.")
    desk = backend or DuckDBBackend(folder)
    with quietly("learn from the labels"):
        known = linker(desk, settings_on(folder, model, desk.dialect))
        columns: dict[str, list[Any]] = {"unique_id_l": true.first.tolist(), "unique_id_r": true.second.tolist()}
        if len(folder.sizes) > 1:
            columns |= {
                f"source_dataset_{side}": [folder.tables[place] for place in folder.table_of(records).tolist()]
                for side, records in (("l", true.first), ("r", true.second))
            }
        known.training.estimate_m_from_pairwise_labels(desk.register(columns))
        raw = known.misc.save_model_to_json()
    # Only m is taken over.
    learnt = _with(model.settings, raw, "m_probability")
    learnt = settled(learnt, prior=model.prior, possible=folder.possible_pairs, among_random=0.0)
    changed = replace(model, settings=_with(model.settings, learnt, "m_probability"), labels=len(labels))
    return _consistent(folder, changed, desk)


def training_rules(folder: ProjectFolder, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """As few rules as can train every attribute; a rule cannot train what it is about.

    Rules with few pairs have the larger share of true ones among them, which trains better.
    """
    names, swap = set(folder.spec.names), set(folder.spec.swap or ())
    given = [rule for rule in rules if not rule.crossed and rule.pairs]
    chosen: list[Rule] = []
    missing = names
    for candidates in (given, [Rule((name,)) for name in folder.spec.names]):
        # Comparisons of swapped names look at both.
        trains = {rule: names - {*rule.attributes, *(swap if swap & {*rule.attributes} else ())} for rule in candidates}
        while missing and candidates:
            best = max(candidates, key=lambda rule: (len(trains[rule] & missing), -rule.pairs))
            if not trains[best] & missing:
                break
            chosen.append(best)
            missing = missing - trains[best]
    if missing:
        raise UsageError(
            "Two attributes that may be swapped are too few to learn from.", remedy="Declare a third, or remove `swap`."
        )
    return tuple(chosen)


def _consistent(folder: ProjectFolder, model: Model, desk: Backend) -> tuple[Model, Pairs]:
    """The model with a share of true pairs that agrees with itself, and its pairs."""
    pairs = _scored(folder, model, desk)
    evidence = pairs.weight - np.log2(model.prior / (1 - model.prior))
    possible = folder.possible_pairs * max(model.blocking.recall, 0.01)
    prior = consistent_prior(evidence, possible=possible, start=model.prior)
    changed = replace(model, settings={**model.settings, "probability_two_random_records_match": prior})
    return changed, weakened(replace(pairs, weight=evidence + np.log2(prior / (1 - prior))))


def consistent_prior(evidence: Floats, *, possible: float, start: float) -> float:
    """The share of true pairs among all possible ones, as its own fixed point (expectation maximisation).

    `evidence` is the weight of the scored pairs without the prior; pairs that were not scored count as false.
    """
    if not len(evidence):
        return start
    prior = start
    for _ in range(ROUNDS):
        expected = float(probability_of(evidence + np.log2(prior / (1 - prior))).sum())
        new = min(0.5, max(expected, 0.5) / max(possible, 1.0))
        if abs(new - prior) <= 1e-12 + 1e-9 * prior:
            break
        prior = new
    return prior


def _with(settings: dict[str, Any], learnt: dict[str, Any], *names: str) -> dict[str, Any]:
    """Settings whose levels have these numbers of other settings."""
    changed = copy.deepcopy(settings)
    for comparison, other in zip(changed["comparisons"], learnt["comparisons"], strict=True):
        for level, known in zip(comparison["comparison_levels"], other["comparison_levels"], strict=True):
            level.update({name: known[name] for name in names if name in known})
    return changed


# What Splink has estimated, made consistent: pure functions on its settings.
#
# Three things are mended. The random pairs behind u hold true pairs too, which matters where true pairs are as frequent
# as chance agreement: their share is taken off. A level that was never seen among true or random pairs has no weight of
# its own. And being less alike never speaks more for a pair: neighbouring levels for which it would are pooled, which
# leaves the sums of m and u as they are (pool adjacent violators, on the ratio).
LEAST = 1e-6
"""No level is impossible among strangers."""
HALF, RARE = 0.5, 0.01
"""A level that no true pair showed counts as half a pair of them (Jeffreys' rule), and at most so often."""
APART = 1e-5
"""Levels that were pooled keep their order by so much of their ratio, so that a weight still tells the level."""
MOST_OFF = 0.1
"""So much of u is left at least: the share of true pairs is only estimated."""


def settled(
    settings: dict[str, Any], *, prior: float, possible: int, among_random: float | None = None
) -> dict[str, Any]:
    """The settings with mended m and u, and the prior that goes with them, for so many possible pairs.

    `among_random` is the share of true pairs among the pairs behind u, the prior unless said; 0 once it was taken off.
    """
    share = prior if among_random is None else among_random
    unseen = min(RARE, HALF / (prior * possible + 1))
    mended = copy.deepcopy(settings)
    mended["probability_two_random_records_match"] = prior
    for comparison in mended["comparisons"]:
        levels = [level for level in comparison["comparison_levels"] if not level.get("is_null_level")]
        ms = [max(_number(level.get("m_probability")), unseen) for level in levels]
        us = [max(_number(level.get("u_probability")), LEAST) for level in levels]
        ms, us = [m / sum(ms) for m in ms], [u / sum(us) for u in us]
        off = [max((u - share * m) / (1 - share), u * MOST_OFF) for m, u in zip(ms, us, strict=True)]
        us = [u / sum(off) for u in off]
        # The ratio m/u falls from level to level; swaps are no steps of likeness and stay as they are.
        labels = [level.get("label_for_charts") for level in levels]
        rising = [place for place, label in enumerate(labels) if label not in (SWAPPED_NAMES, SWAPPED_DAY, SHORT_FORM)][
            ::-1
        ]
        ratios = pooled(
            np.array([ms[place] / us[place] for place in rising]), np.array([us[place] for place in rising])
        )
        for step, (place, ratio) in enumerate(zip(rising, ratios.tolist(), strict=True)):
            ms[place] = ratio * us[place] * (1 + step * APART)
        ms = [m / sum(ms) for m in ms]
        for level, m, u in zip(levels, ms, us, strict=True):
            level["m_probability"], level["u_probability"] = m, u
    return mended


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


# How two values of each kind are compared: Splink's comparison levels, from most to least alike.
#
# Two levels are not steps of likeness. A month and a day that are swapped are one slip. First and last name that are
# swapped are one slip too, not two: it counts in the comparison of the one, and says nothing in that of the other.
SWAPPED_NAMES = "names swapped"
SWAPPED_DAY = "day and month swapped"
SHORT_FORM = "short form of the same name"
ALIKE = (15, 25, 40)
"""Damerau-Levenshtein distances of strings, in per cent of the longer one. Jaro-Winkler finds as much on the FEBRL tables,
but DuckDB and Spark differ in it: one counts half a transposition, the other rounds it down."""
EDITS = (1, 2)
"""Damerau-Levenshtein distances of IDs and dates."""


def comparison_settings(folder: ProjectFolder, rules: Sequence[Rule], *, prior: float) -> Any:
    """Splink's settings for a project that is not trained yet."""
    from splink import SettingsCreator

    return SettingsCreator(
        link_type="link_only" if folder.across else "link_and_dedupe" if len(folder.sizes) > 1 else "dedupe_only",
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

    columns = [column_of(key, spec) for key in rule.attributes]
    if rule.crossed:
        a, b = columns
        return CustomRule(f"l.{a} = r.{b} AND l.{b} = r.{a} AND l.{a} <> r.{a}")
    return block_on(*columns)


def _comparison(place: int, attribute: Attribute, spec: LinkageSpec) -> Any:
    import splink.comparison_level_library as levels
    import splink.comparison_library as library

    column = f"a{place}"
    # Agreeing on a rare value says more. A birthday is as rare as any other.
    exact = levels.ExactMatchLevel(column)
    steps = [
        levels.NullLevel(column),
        exact if attribute.kind == "date" else exact.configure(tf_adjustment_column=column),
    ]
    if attribute.kind == "string":
        longer = f"greatest(length({column}_l), length({column}_r))"
        distance = f"damerau_levenshtein({column}_l, {column}_r)"
        steps.append(levels.CustomLevel(f"{column}_{LONG}_l = {column}_{LONG}_r", SHORT_FORM))
        for share in ALIKE:
            # Lengths alone rule most pairs out, without a distance.
            apart = f"100 * abs(length({column}_l) - length({column}_r)) > {share} * {longer}"
            near = f"CASE WHEN {apart} THEN FALSE ELSE 100 * {distance} <= {share} * {longer} END"
            steps.append(levels.CustomLevel(near, f"{share} % of the letters differ"))
    elif attribute.kind == "date":
        swapped = (
            f"substr({column}_l, 1, 4) = substr({column}_r, 1, 4) AND substr({column}_l, 6, 2) = substr({column}_r, 9, 2) "
            f"AND substr({column}_l, 9, 2) = substr({column}_r, 6, 2) AND {column}_l <> {column}_r"
        )
        steps.append(levels.CustomLevel(swapped, SWAPPED_DAY))
    if attribute.kind in ("fixed", "date"):
        steps += [levels.DamerauLevenshteinLevel(column, edit) for edit in EDITS]
    if spec.swap is not None and attribute.name in spec.swap:
        a, b = (f"a{spec.names.index(name)}" for name in spec.swap)
        crossed = levels.CustomLevel(f"{a}_l = {b}_r AND {b}_l = {a}_r AND {a}_l <> {a}_r", SWAPPED_NAMES)
        counts = attribute.name == spec.swap[0]
        steps.insert(1, crossed if counts else crossed.configure(is_null_level=True))
    return library.CustomComparison([*steps, levels.ElseLevel()], output_column_name=column)
