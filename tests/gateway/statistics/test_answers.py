"""Accounts of answers: charged before anything runs, free when repeated, never forgotten, decided without secrets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.gateway.statistics import Admission, AnswerRefused, Answers, Moment, WhoSet
from discreet.gateway.statistics.answers import _People
from discreet.gateway.statistics.quantities import people_query
from discreet.ledger import Ledger
from tests.gateway.statistics.worlds import COUNT, ILL, INCOME, SUM, PeopleWorld, answers, cell, ledger

__all__ = ["ledger"]
MANY = list(range(100))


def admitted(given_out: Admission | AnswerRefused) -> Admission:
    assert isinstance(given_out, Admission)
    return given_out


def used(one: Answers, user: str = "ann") -> dict[str, int]:
    return {name: 200 - left.answers for name, left in one.left(user).items()}


def test_a_question_is_charged_before_it_runs_and_noised_afterwards(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger)
    question = world.question("p", SUM, COUNT, a=MANY, b=range(100, 103))
    admission = admitted(one.admit("ann", [question], world.ask))
    assert used(one) == {INCOME: 1, ILL: 1}
    entry = list(ledger.entries())[-1]
    assert (entry.event, entry.actor, entry.details["answers"]) == ("gateway.counted", "ann", 2)
    shown = one.release(admission, 0, [cell("a", MANY, 5.0, 9.0), cell("b", [1, 2, 3], 1.0, 1.0)], world.ask)
    assert isinstance(shown, list)
    assert [released.shown for released in shown] == [True, False]
    assert shown[0].values[0] != 5.0


def test_the_same_question_is_free_whatever_the_spelling(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger)
    first = world.question("p", SUM, a=MANY)
    told = one.release(admitted(one.admit("ann", [first], world.ask)), 0, [cell("a", MANY, 5.0)], world.ask)
    again = one.release(admitted(one.admit("ann", [first], world.ask)), 0, [cell("a", MANY, 5.0)], world.ask)
    assert len(world.fetched) == 1, "a repeat asks for nobody's key"
    other = world.question("q", SUM, spelling="::text", z=reversed(MANY))
    spelt = one.release(admitted(one.admit("ann", [other], world.ask)), 0, [cell("z", MANY, 5.0)], world.ask)
    assert told == again == spelt
    assert used(one) == {INCOME: 1}
    two_sets = [world.question("r", SUM, x=range(50)), world.question("s", SUM, y=range(50))]
    admitted(one.admit("ann", two_sets, world.ask))
    assert used(one) == {INCOME: 2}


def test_another_condition_moment_or_user_is_another_answer(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger)
    for moment in (COUNT, Moment("count", (ILL,), condition="ill IN (no)"), Moment("count", (ILL,), scope="visits")):
        admitted(one.admit("ann", [world.question("p", moment, a=MANY)], world.ask))
    admitted(one.admit("ben", [world.question("p", COUNT, a=MANY)], world.ask))
    assert (used(one), used(one, "ben")) == ({ILL: 3}, {ILL: 1})


def test_whether_a_value_is_missing_has_an_account_of_its_own(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger)
    admitted(one.admit("ann", [world.question("p", SUM, Moment("present", (INCOME,)), a=MANY)], world.ask))
    assert used(one) == {INCOME: 1, f"{INCOME} (present)": 1}


def test_all_bins_of_a_histogram_are_one_answer(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger)
    bins = [Moment(f"bin:{number}", (INCOME,)) for number in range(100)]
    admitted(one.admit("ann", [world.question("p", *bins, a=MANY)], world.ask))
    assert used(one) == {INCOME: 1}


def test_what_changed_since_is_a_new_answer(ledger: Ledger) -> None:
    """Under sticky noise a change would show exactly; the noise is another one, and it is paid for (trap 3)."""
    world, one = PeopleWorld(), answers(ledger)
    question = world.question("p", SUM, a=MANY, b=range(200, 300))
    before = [cell("a", MANY, 5.0), cell("b", range(200, 300), 5.0)]
    told = one.release(admitted(one.admit("ann", [question], world.ask)), 0, before, world.ask)
    after = [cell("a", MANY, 5.0, version="changed"), before[1]]
    now = one.release(admitted(one.admit("ann", [question], world.ask)), 0, after, world.ask)
    assert isinstance(told, list)
    assert isinstance(now, list)
    assert told[0] != now[0]
    assert told[1] == now[1]
    assert used(one) == {INCOME: 2}
    reductions = {name: left.reduction for name, left in one.left("ann").items()}
    assert reductions[INCOME] == pytest.approx(1 / (100 + 48 / 2), abs=1e-5), "two answers about a, one about b"


def test_the_budget_is_a_second_line(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger, answers=2)
    for start in (0, 100):
        admitted(one.admit("ann", [world.question(f"p{start}", SUM, a=range(start, start + 90))], world.ask))
    refused = one.admit("ann", [world.question("p9", SUM, a=range(900, 990))], world.ask)
    assert isinstance(refused, AnswerRefused)
    assert (refused.what, "0 are left" in refused.reason) == ("budget", True)
    admitted(one.admit("ann", [world.question("p0", SUM, a=range(90))], world.ask))


def test_the_audit_refuses_what_would_narrow_one_person_down(ledger: Ledger) -> None:
    world, one, given_out = PeopleWorld(), answers(ledger), 0
    for number in range(100):
        people = range(1000 * number + 1, 1000 * number + 400)
        one_more = world.question(f"b{number}", SUM, a=[0, *people])
        asked = [world.question(f"a{number}", SUM, a=people), one_more]
        price = one.price("ann", asked, world.ask)
        refused = one.admit("ann", asked, world.ask)
        assert isinstance(refused, AnswerRefused) == (price.refused is not None)
        if isinstance(refused, AnswerRefused):
            assert refused.what == "audit"
            break
        given_out += 2
    assert 40 <= given_out <= 50
    assert one.left("ann")[INCOME].reduction <= 0.2
    assert isinstance(one.admit("ann", [world.question("else", SUM, a=range(-0, 0))], world.ask), Admission)


def test_many_questions_about_one_group_end(ledger: Ledger) -> None:
    """Each is about other values: together they say what everybody in the group has, which no share of a sum shows."""
    world, one = PeopleWorld(), answers(ledger)
    for number in range(100):
        moment = Moment("count", (ILL,), condition=f"ill IN ({number})")
        refused = one.admit("ann", [world.question("ward", moment, a=range(1000))], world.ask)
        if isinstance(refused, AnswerRefused):
            break
    assert isinstance(refused, AnswerRefused)
    assert (number, refused.what, "who know all others" in refused.reason) == (48, "audit", True)


def test_products_and_public_factors_single_people_out(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger)
    counted = 0
    while isinstance(
        one.admit(
            "ann",
            [
                world.question(
                    f"p{counted}",
                    Moment("product", (INCOME,), public="t.people.age", bounds=(0, 9)),
                    a=range(counted, 500 + counted),
                )
            ],
            world.ask,
        ),
        Admission,
    ):
        counted += 1
    assert counted == 12, "k / (k + 48) reaches a fifth with the twelfth"


def test_rows_of_a_person_weigh_as_they_count(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger)
    joined = Moment("sum", (INCOME,), scope="visits", rows=4)
    admitted(one.admit("ann", [world.question("v", joined, a=[*range(20), 0, 0, 0, 0, 0])], world.ask))
    told = one._books("user:ann", [INCOME])[INCOME].audit
    assert told.of(0) == pytest.approx(1 / (1 + 19 / 16 + 48))
    assert told.of(1) == pytest.approx((1 / 16) / (1 + 19 / 16 + 48))


@pytest.mark.parametrize("beside", [[], [Moment("count", (ILL,), scope="visits", rows=4)]])
def test_an_answer_costs_the_same_whatever_is_asked_beside_it(ledger: Ledger, beside: list[Moment]) -> None:
    """People and their rows are counted with noise of their own: many rows for one hide no person in the other."""
    world, one = PeopleWorld(), answers(ledger)
    for number in range(3):
        people = Moment("count", (ILL,), scope="people", condition=f"ill IN ({number})")
        admitted(one.admit("ann", [world.question(f"v{number}", people, *beside, a=range(20))], world.ask))
    told = one._books("user:ann", [ILL])[ILL].audit
    assert told.of(1) >= 1 / (20 + 48 / 3) - 1e-12


@pytest.mark.parametrize("tag", ["count", "bin:3"])
def test_a_histogram_counts_as_two_answers(ledger: Ledger, tag: str) -> None:
    """A person is in one of its parts or in another, and both have noise of their own."""
    world, one = PeopleWorld(), answers(ledger)
    for number in range(100):
        moment = Moment(tag, (ILL,), condition=f"day IN ({number})")
        asked_again = replace(world.question("ward", moment, a=range(1000)), by=(ILL,) if tag == "count" else ())
        refused = one.admit("ann", [asked_again], world.ask)
        if isinstance(refused, AnswerRefused):
            break
    assert number == 24


VARIANTS: dict[str, tuple[Moment, dict[str, Any]]] = {
    "as it is": (COUNT, {}),
    "another spelling of a sensitive group": (COUNT, {"sensitive": "[('CASE a', '=x')]"}),
    "another way to write a value": (COUNT, {"sensitive": "[('CASE a', '=X')]"}),
    "other values": (COUNT, {"who": "changed"}),
    "other bounds": (Moment("sum", (ILL,), public="t.people.age", bounds=(0, 9)), {}),
    "bounds that are wider": (Moment("sum", (ILL,), public="t.people.age", bounds=(0, 10)), {}),
    "other rows": (Moment("count", (ILL,), condition="ill IN (yes)", rows=4), {}),
}


@settings(max_examples=30)
@given(st.lists(st.sampled_from(list(VARIANTS)), min_size=1, max_size=12))
def test_noise_that_was_not_seen_before_is_charged(asked: list[str]) -> None:
    """Whatever makes noise another one makes the answer another one: there is no fresh noise for nothing."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, Ledger.open(f"{folder}/store.db") as opened:
        world, one, seen = PeopleWorld(), answers(opened, known=1.0, audit=1.0), set()
        for name in asked:
            moment, changed = VARIANTS[name]
            told = replace(cell("a", MANY, 5.0), **changed)
            admission = admitted(one.admit("ann", [world.question("p", moment, a=MANY)], world.ask))
            assert isinstance(one.release(admission, 0, [told], world.ask), list)
            seen.add(one.noise.of(moment, told))
            assert used(one)[ILL] >= len(seen)
        assert used(one)[ILL] <= len(asked)


def test_projects_share_one_account(ledger: Ledger) -> None:
    world, one = PeopleWorld(), answers(ledger, projects={"study": frozenset({"ann", "nurses"})})
    question = [world.question("p", SUM, a=MANY)]
    admitted(one.admit("ann", question, world.ask))
    admitted(one.admit("ben", question, world.ask, roles={"nurses"}))
    admitted(one.admit("eve", question, world.ask))
    assert used(one) == used(one, "eve") == {INCOME: 1}
    assert used(one, "ben") == {}
    assert one.left("ben", {"nurses"}) == one.left("ann")


def test_several_gateways_on_one_store_forget_nothing(ledger: Ledger, tmp_path: Path) -> None:
    world = PeopleWorld()
    asked = [[world.question(f"p{number}", SUM, a=range(number, number + 50))] for number in range(12)]
    with Ledger.open(tmp_path / "store.db") as second:
        both = [answers(ledger), answers(second)]
        with ThreadPoolExecutor(4) as pool:
            done = list(
                pool.map(lambda number: both[number % 2].admit("ann", asked[number // 2 % 12], world.ask), range(24))
            )
        assert all(isinstance(one, Admission) for one in done)
        assert used(both[0]) == used(both[1]) == {INCOME: 12}
        assert len(both[0]._books("user:ann", [INCOME])[INCOME].audit.names) == 12
    assert used(answers(ledger)) == {INCOME: 12}, "nor does a gateway that was started again"


def test_two_gateways_cannot_spend_the_last_answer_twice(ledger: Ledger, tmp_path: Path) -> None:
    world = PeopleWorld()
    asked = [[world.question(f"p{number}", SUM, a=range(100 * number, 100 * number + 90))] for number in range(8)]
    with Ledger.open(tmp_path / "store.db") as second:
        both = [answers(ledger, answers=3), answers(second, answers=3)]
        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda number: both[number % 2].admit("ann", asked[number], world.ask), range(8)))
    assert sum(isinstance(one, Admission) for one in done) == 3


def test_what_was_charged_and_never_shown_is_charged_again(ledger: Ledger) -> None:
    """A gateway that dies in between has shown nothing; it cannot know, so it counts both."""
    world = PeopleWorld()
    question = world.question("p", SUM, a=MANY)
    admitted(answers(ledger).admit("ann", [question], world.ask))
    again = answers(ledger)
    again.release(admitted(again.admit("ann", [question], world.ask)), 0, [cell("a", MANY, 5.0)], world.ask)
    assert used(again) == {INCOME: 2}


Worlds: Any = st.lists(st.lists(st.integers(0, 25), min_size=8, max_size=20, unique=True), min_size=1, max_size=12)


@settings(max_examples=6)
@given(Worlds, st.integers(0, 25))
def test_two_worlds_that_differ_in_one_secret_get_the_same_decisions(questions: list[list[int]], secret: int) -> None:
    """Nothing that is decided, charged or said before release has a sensitive value in it."""
    import tempfile

    said: list[Any] = []
    for value in (0.0, 100.0):
        with tempfile.TemporaryDirectory() as folder, Ledger.open(f"{folder}/store.db") as opened:
            world, one = PeopleWorld(), answers(opened, answers=20)
            mine: list[Any] = []
            for number, people in enumerate(questions):
                asked = [world.question(f"p{number}", SUM, a=people)]
                outcome = one.admit("ann", asked, world.ask)
                mine.append((type(outcome).__name__, getattr(outcome, "reason", ""), one.left("ann")))
                if isinstance(outcome, Admission):
                    total = sum(value if person == secret else 50.0 for person in people) - 50 * len(people)
                    version = str(value) if secret in people else ""
                    shown = one.release(outcome, 0, [cell("a", people, total, version=version)], world.ask)
                    assert isinstance(shown, list)
                    mine.append([released.shown for released in shown] if secret not in people else len(shown))
            said.append(mine)
    assert said[0] == said[1]


def test_the_people_of_a_cell_are_read_from_a_real_database(postgres_url: str) -> None:
    relation = "(VALUES (1, 'a'), (2, 'a'), (2, 'a'), (3, 'b'), (NULL, 'b')) AS t(id, zip)"
    who = WhoSet(relation, "zip <> 'x'", "t.id", "t.zip::text", (Moment("sum", (INCOME,), rows=4),), once=False)
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute(people_query([who]).encode()).fetchall()
        cells = _People((who,), lambda _: rows).cells(0, 1)
        keys = connection.execute("SELECT hashtextextended(i::text, 0) FROM generate_series(1, 3) i").fetchall()
    marks = [int(key) % 2**64 for (key,) in keys]
    assert sorted(cells["a"].people.tolist()) == sorted(marks[:2])
    shares = dict(zip(cells["a"].people.tolist(), cells["a"].asked(4).shares.tolist(), strict=True))  # type: ignore[union-attr]
    assert (shares[marks[0]], shares[marks[1]]) == (0.25, 0.5)
    assert cells["b"].people.tolist() == [marks[2]], "rows of nobody are about nobody"


def test_sets_about_the_same_rows_are_read_in_one_scan(postgres_url: str) -> None:
    """As many cells, and the same people in them, as each set by itself would have."""
    relation = "(SELECT i AS id, i % 3 AS a, i % 5 AS b FROM generate_series(1, 60) i) AS t"
    made = [
        ((), "''"),
        (("t.a",), "ROW(t.a, NULL)::text"),
        (("t.b",), "ROW(NULL, t.b)::text"),
        (("t.a", "t.b"), "ROW(t.a, t.b)::text"),
    ]
    sets = tuple(WhoSet(relation, "t.id > 4", "t.id", cell, (SUM,), groups=groups) for groups, cell in made)
    scans: list[str] = []
    with psycopg.connect(postgres_url) as connection:

        def ask(sql: str) -> list[tuple[Any, ...]]:
            scans.append(sql)
            return connection.execute(sql.encode()).fetchall()

        together = _People(sets, ask)
        found = [together.cells(place, 2) for place in range(4)]
        alone = [_People((one,), ask).cells(0, 2) for one in sets]
    assert len(scans) == 1 + 4
    assert [len(cells) for cells in found] == [1, 3, 5, 15]
    for one, other in zip(found, alone, strict=True):
        assert {label: cell.asked(1).name for label, cell in one.items()} == {
            label: cell.asked(1).name for label, cell in other.items()
        }
