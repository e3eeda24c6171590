"""Who is named, how soon, and how often wrongly? Releases traced in a simulated state.

python -m benchmarks.releases_tracing [innocents claims files power parts accused leaks speed]

A state like State 3 of the AnonTokens paper (3.5 million people, a 1 % sample, k = 5), marks in the ambiguity band with
paired decoys, 20 recipients, the law 0.2/0.5, alpha = 1e-3 (`benchmarks.releases_world`).

  innocents   20,000 families of 20 innocent recipients per way of making claims, looked at after every claim
  claims      claims until somebody is named: one leaker, two and three who collude by intersection, riskiest first; and
              the paper's decoys, which no two recipients share
  files       5 % of the rows of a copy; copies of two and three put together in five ways
  power       one to ten who collude, by eight strategies, with as many marks as the plan says they take; whole files
  parts       the same from a tenth of the rows
  accused     20,000 families of 20 innocent recipients by the joint e-value of a file made of copies of others
  leaks       the leak suite of `discreet release attack` on 35,000 rows: who is named after what
  speed       20 recipients, 2,000 marks
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from benchmarks.measure import best_of, run_parts
from benchmarks.releases_world import World, world
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Ints
from discreet.releases import power
from discreet.releases.marks.codebook import Codebook, Marks
from discreet.releases.marks.row_marks import ROW_LAW
from discreet.releases.population_link import Linked
from discreet.releases.tracing.case import SuspectTable, Traceable
from discreet.releases.tracing.evidence import log_e_paths, threshold
from discreet.releases.tracing.joint_evidence import SeenMarks
from discreet.releases.tracing.trace import trace_leak

RECIPIENTS, ALPHA = 20, 1e-3
Random = np.random.Generator
Order = Callable[[Codebook, Random], Ints]
"""A way of making claims: the marks that are hit, in order, by somebody who has no copy of those on trial."""


def at_random(codebook: Codebook, random: Random) -> Ints:
    """Somebody names people of the population at random."""
    weights = codebook.marks.links.astype(np.float64)
    return np.argsort(random.exponential(size=len(weights)) / weights)


def riskiest(codebook: Codebook, random: Random) -> Ints:
    """An outsider with the population list names the rarest kinds of people first."""
    return np.asarray(np.lexsort((random.random(len(codebook.marks)), codebook.marks.links)))


def rarest(codebook: Codebook, random: Random) -> Ints:
    """The worst insider: he knows the secret probabilities, and names first what few copies hold."""
    return np.asarray(np.lexsort((random.random(len(codebook.marks)), codebook.probabilities)))


def from_another_release(codebook: Codebook, random: Random) -> Ints:
    """A leaker of another release with the same classes names the riskiest people of his copy."""
    held = random.random(len(codebook.marks)) < random.choice([0.2, 0.5], len(codebook.marks))
    order = riskiest(codebook, random)
    return order[held[order]]


def from_this_release(codebook: Codebook, random: Random) -> Ints:
    """A leaker of this release, beside the innocent ones, names the riskiest people of his copy."""
    held = codebook.drawn(1, random)[0]
    order = riskiest(codebook, random)
    return order[held[order]]


def from_two_copies(codebook: Codebook, random: Random) -> Ints:
    """Two leakers of this release name people whom both their copies hold."""
    held = codebook.drawn(2, random).all(axis=0)
    order = riskiest(codebook, random)
    return order[held[order]]


INNOCENT: dict[str, Order] = {
    "random people": at_random,
    "riskiest first, an outsider with a list": riskiest,
    "marks that few copies hold first": rarest,
    "a leaker of another release": from_another_release,
    "a leaker of this release": from_this_release,
    "two leakers of this release": from_two_copies,
}


def false_accusations(codebook: Codebook, order: Order, *, families: int, claims: int, seed: int) -> float:
    """The share of families in which an innocent recipient is accused after any of the claims."""
    random, least, accused = np.random.default_rng(seed), threshold(RECIPIENTS, ALPHA), 0
    for _ in range(families):
        hit = order(codebook, random)[:claims]
        bits = random.random((RECIPIENTS, len(hit))) < codebook.probabilities[hit]
        accused += bool((log_e_paths(codebook.probabilities[hit], bits) >= least).any())
    return accused / families


def until_named(place: World, *, colluding: int, runs: int, seed: int) -> list[float]:
    """Claims until one of those who collude is named, riskiest first; infinite where that never happens."""
    random, least, found = np.random.default_rng(seed), threshold(RECIPIENTS, ALPHA), []
    base, p = int(place.base.sum()), place.codebook.probabilities
    for _ in range(runs):
        copies = place.codebook.drawn(colluding, random)
        order = place.riskiest_first(place.held(copies.all(axis=0)), random)
        claimed = np.flatnonzero(order >= base)
        hit = order[claimed] - base
        named = (log_e_paths(p[hit], copies[:, hit]) >= least).any(axis=0)
        found.append(float(claimed[np.argmax(named)] + 1) if named.any() else np.inf)
    return found


def bait_until_named(place: World, *, colluding: int, runs: int, seed: int) -> list[float]:
    """The same with the paper's decoys: each recipient has some of its own, and a claim on one names it at once."""
    random, found = np.random.default_rng(seed), []
    decoys = np.flatnonzero(place.codebook.marks.decoy)
    for _ in range(runs):
        owner = random.permutation(len(decoys)) % RECIPIENTS
        copies = np.zeros((colluding, len(place.codebook.marks)), dtype=bool)
        for copy in range(colluding):
            copies[copy, decoys[owner == copy]] = True
        copies[:, ~place.codebook.marks.decoy] = True
        order = place.riskiest_first(place.held(copies.all(axis=0)), random)
        named = np.isin(order - int(place.base.sum()), decoys)
        found.append(float(np.argmax(named) + 1) if named.any() else np.inf)
    return found


def put_together(place: World, copies: Flags, how: str, random: Random) -> Ints:
    """Rows per class of what several recipients make of their copies."""
    held = np.stack([place.held(copy) for copy in copies])
    if how == "union":
        return held.any(axis=0) * place.sizes
    if how == "intersection":
        return held.all(axis=0) * place.sizes
    if how == "one after the other":
        return held.sum(axis=0) * place.sizes
    if how == "classes in turns":
        chosen = random.integers(0, len(copies), len(place.sizes))
        return held[chosen, np.arange(len(place.sizes))] * place.sizes
    return np.sum([random.binomial(place.sizes * one, 1 / len(copies)) for one in held], axis=0)


WAYS = ("rows at random", "classes in turns", "union", "intersection", "one after the other")


def named_from_files(
    place: World, *, colluding: int, how: str, share: float, runs: int, seed: int
) -> tuple[float, float, int]:
    """How often a leaker is named, the share of leakers who are, and how many innocent ones were."""
    random, any_, all_, wrong = np.random.default_rng(seed), 0, 0, 0
    for _ in range(runs):
        present = place.codebook.drawn(RECIPIENTS, random)
        again = replace(place, codebook=replace(place.codebook, present=present))
        leak = random.binomial(put_together(again, present[:colluding], how, random), share)
        accused = set(trace_leak(again.traceable, again.file(leak)).accused)
        guilty = set(place.codebook.recipients[:colluding])
        any_, all_, wrong = any_ + bool(accused & guilty), all_ + len(accused & guilty), wrong + len(accused - guilty)
    return any_ / runs, all_ / runs / colluding, wrong


def innocents() -> None:
    """False accusations."""
    families, bound = 20_000, ALPHA + 3 * np.sqrt(ALPHA / 20_000)
    print(f"{families:,} families of {RECIPIENTS}, 100 hits each; the bound with three standard errors is {bound:.5f}")
    for name, order in INNOCENT.items():
        rate = false_accusations(world().codebook, order, families=families, claims=100, seed=7)
        print(f"  {name:44}{rate:9.5f}  {'within' if rate <= bound else 'ABOVE'}", flush=True)


def claims() -> None:
    """How soon a leaker is named by claims."""
    targets = {1: "18", 2: "25", 3: "-"}
    print(f"{'claims until somebody is named':44}{'median':>8}{'90 %':>8}{'target':>8}")
    for colluding, target in targets.items():
        runs = until_named(world(), colluding=colluding, runs=2_000, seed=8)
        _quantiles(f"marks, {colluding} by intersection" if colluding > 1 else "marks, one leaker", runs, target)
    for colluding in (1, 2):
        runs = bait_until_named(world(), colluding=colluding, runs=200, seed=9)
        _quantiles(f"the paper's decoys, {colluding}", runs, "never" if colluding > 1 else "-")


def _quantiles(name: str, runs: list[float], target: str) -> None:
    median, late = (f"{np.quantile(runs, q, method='higher'):.0f}".replace("inf", "never") for q in (0.5, 0.9))
    print(f"{name:44}{median:>8}{late:>8}{target:>8}", flush=True)


def files() -> None:
    """How often leakers of files are named."""
    print(f"{'':44}{'any named':>10}{'all':>8}{'wrongly':>9}")
    cases = [(1, "rows at random", 0.05, 300), *((copies, how, 0.05, 40) for copies in (2, 3) for how in WAYS)]
    for colluding, how, share, runs in cases:
        any_, all_, wrong = named_from_files(world(), colluding=colluding, how=how, share=share, runs=runs, seed=10)
        print(f"{f'{share:.0%} of rows, {colluding}: {how}':44}{any_:10.3f}{all_:8.3f}{wrong:9}", flush=True)


def large(marks: int = 2_000) -> Traceable:
    """A release with many marks, each class of its own."""
    data = Classes.of(["zip"], [(f"{place:05}",) for place in range(5_000)], [6] * 5_000)
    population = Classes.of(
        ["zip"], [(f"{place:05}",) for place in range(5_000 + marks // 2)], [500] * (5_000 + marks // 2)
    )
    linked = Linked.at_node(data, population, {"zip": 0}, k=5)
    places = [*range(marks // 2), *range(5_000, 5_000 + marks // 2)]
    half = np.arange(marks // 2)
    made = Marks(
        columns=("zip",),
        labels=tuple((f"{place:05}",) for place in places),
        decoy=np.repeat([False, True], marks // 2),
        sizes=np.full(marks, 6),
        links=np.full(marks, 500),
        partners=np.concatenate([half + marks // 2, half]),
    )
    random = np.random.default_rng(11)
    p = random.choice([0.2, 0.5], marks)
    book = Codebook(made, p, tuple(f"r{n}" for n in range(RECIPIENTS)), random.random((RECIPIENTS, marks)) < p)
    return Traceable.of(linked, book, release="large")


def speed() -> None:
    """What a trace of a file costs, against counting it."""
    release = large()
    book = release.codebook
    held = [book.marks.labels[place] for place in np.flatnonzero(book.present[0])]
    rows = [{"zip": zip_} for (zip_,) in held for _ in range(2)] + [{"zip": f"{n:05}"} for n in range(1_000, 5_000)]
    traced = best_of(lambda: trace_leak(release, rows).accused, 3)
    counted = best_of(lambda: SuspectTable.of(rows).counted(["zip"]).counts.sum(), 3)
    print(f"{len(book.marks):,} marks, {RECIPIENTS} recipients: {traced.answer} named")
    print(
        f"  trace {traced.cpu:.2f} CPU s, {traced.wall:.2f} s, peak {traced.peak_mb:.0f} MB; counting the file alone {counted.cpu:.2f} CPU s: {traced.cpu / counted.cpu:.2f}x"
    )


def powers(needed: Mapping[int, int] = power.NEEDED, *, part: float = 1.0) -> None:
    """How often one of those who collude is named with the marks that the plan says it takes."""
    random = np.random.default_rng(12)
    print(f"{f'{part:.0%} of the rows':20}" + "".join(f"{strategy:>14}" for strategy in power.STRATEGIES))
    for colluding, marks in needed.items():
        # Alone there is nothing to choose: all strategies are the same, and are played as often together.
        runs, wrong, cells = max(8, 120 // colluding) if colluding > 1 else 30, 0, ""
        for strategy in power.STRATEGIES:
            found = [power.named(ROW_LAW, marks, colluding, strategy, random, part=part) for _ in range(runs)]
            wrong += sum(innocent for _, innocent in found)
            cells += f"{np.mean([named for named, _ in found]):14.2f}"
        print(f"{f'{colluding}, {marks:,} marks':20}{cells}   {wrong} innocents in {8 * runs} runs", flush=True)


def parts() -> None:
    """The same from a tenth of the rows."""
    powers(power.NEEDED_OF_A_TENTH, part=0.1)


def accused(families: int = 20_000, marks: int = 60) -> None:
    """False accusations by the joint e-value."""
    random, wrong, largest = np.random.default_rng(13), 0, 0.0
    line = np.log(RECIPIENTS / ALPHA)
    for run in range(families):
        chances = ROW_LAW.probabilities(random.random(marks))
        others = random.random((1 + run % 4, marks)) < chances
        shown = power.shown_by(others, power.STRATEGIES[run % len(power.STRATEGIES)], random)
        seen = SeenMarks(chances, np.where(shown, -0.02, -3.9), np.where(shown, -3.9, -0.02))
        e_values = seen.log_e_values(random.random((RECIPIENTS, marks)) < chances)
        wrong += bool((e_values >= line).any())
        largest = max(largest, float(e_values.max()))
    bound = ALPHA + 3 * np.sqrt(ALPHA / families)
    print(
        f"{families:,} families of {RECIPIENTS}: {wrong / families:.5f} accused ({wrong}); the bound with three standard errors is "
        f"{bound:.5f}; the largest e-value is {np.exp(largest):,.0f}, the line {np.exp(line):,.0f}"
    )


def leaks(people: int = 3_500_000, runs: int = 2) -> None:
    """The leak suite on a sample of 1 % of a state: who is named after what."""
    import discreet
    from benchmarks.releases_marks import COLUMNS, STATE_POLICY, bound, linked_of
    from discreet.people import State, counted, generate
    from discreet.releases.leak_suite import LeakStage, leak, leak_words
    from discreet.releases.marks.codebook import DEFAULT
    from discreet.releases.marks.selection import mark

    policy, key = discreet.Policy.from_dict(STATE_POLICY), bytes(range(32))
    everybody = generate(State.three(people), seed=3, columns=COLUMNS)
    sample = everybody.sample(0.01, seed=4)
    table = discreet.read({name: sample.column(name) for name in COLUMNS}, policy=policy)
    linked = linked_of(table, bound(counted(everybody, *policy.quasi), policy))
    marking = mark(linked, table, key=key, release="leaks")
    stage = LeakStage.of(marking, table, DEFAULT, key=key, release="leaks")
    outcomes = leak(stage, np.random.default_rng(14), runs=runs)
    print(f"{marking}; {runs} runs each")
    for one in outcomes:
        if one.colluding < 2:
            print(f"  {one.leak:44}{one.named} of {one.runs if one.colluding else 0}, {one.innocents} innocents")
    for sentence in leak_words(
        outcomes, stated=power.coalition_supported(len(marking.marks) + len(marking.rows), RECIPIENTS)
    ):
        print(f"  {sentence}")


PARTS = {
    "leaks": leaks,
    "speed": speed,
    "innocents": innocents,
    "claims": claims,
    "files": files,
    "power": powers,
    "parts": parts,
    "accused": accused,
}


def main(parts: list[str] | None = None) -> None:
    """Run the named parts, or all."""
    run_parts(PARTS, parts)


if __name__ == "__main__":
    main(sys.argv[1:])
