"""Releases as a custodian makes them in Python: recipients, versions, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from sqlalchemy import update

import discreet
from discreet.errors import IntegrityError, Outdated, PopulationError, Refused, UsageError
from discreet.kernel import Classes
from discreet.ledger import Ledger
from discreet.ledger.keys import Keys
from discreet.releases import Gates, Release, open_release, plan, release
from discreet.releases.delivery.repository import STATES
from discreet.releases.delivery.service import Registry
from discreet.releases.preconditions import check_names
from discreet.sources import read
from discreet.store import Store
from discreet.store.tables.web import RELEASE
from tests.releases.world import GATES, POLICY, SETTINGS, World, rows_in, town

NAMES = ["north", "south"]
WITH_EXTRA = replace(POLICY, roles={**POLICY.roles, "extra": "other"})
MOSTLY_SQLITE = pytest.mark.parametrize(
    "store_url", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.slow])], indirect=True
)
"""For tests whose stores are as in the others: on PostgreSQL in long runs."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return town(tmp_path_factory.mktemp("town"))


def made(world: World, store: Any, names: list[str] = NAMES, **asked: Any) -> Release:
    about = {**SETTINGS, "name": "spring", "actor": "ann", **asked}
    return release(world.table, world.population, names, store=store, **about)


def events(store: Any) -> list[str]:
    with Ledger.open(store) as ledger:
        return [entry.event for entry in ledger.entries()][1:]


def test_a_release_from_plan_to_copies_on_both_stores(world: World, store_url: str, tmp_path: Path) -> None:
    spring = made(world, store_url)
    assert [copy.state for copy in spring.copies] == ["approved", "approved"]
    assert events(store_url) == ["releases.sealed"]
    done = spring.write(tmp_path / "out")
    assert [copy.recipient for copy in done] == NAMES
    assert all((tmp_path / "out" / name / "data.parquet").is_file() for name in NAMES)
    assert events(store_url) == ["releases.sealed", "releases.delivered", "releases.delivered"]
    opened = open_release("spring", store_url)
    assert [copy.state for copy in opened.kept.copies] == ["delivered", "delivered"]
    assert [copy.rows for copy in opened.kept.copies] == [copy.rows for copy in done]
    with Ledger.open(store_url) as ledger:
        assert ledger.verify().holds
        sealed, *delivered = list(ledger.entries(room="releases"))
        assert sealed.details["manifest"] == opened.kept.digest
        assert sealed.details["sign_off"] == GATES.sign_off
        assert sealed.policy == POLICY.digest
        assert [entry.details["file"] for entry in delivered] == [copy.file for copy in done]


def test_two_deliveries_of_a_copy_tell_nothing_of_each_other(world: World, store: Path, tmp_path: Path) -> None:
    """Once from the table as it is and once from one with its rows turned round: decoys must not be what stays in place."""
    spring = made(world, store)
    spring.write(tmp_path / "first", recipients=["north"])
    with duckdb.connect() as connection:
        turned = tmp_path / "turned.parquet"
        connection.execute(f"COPY (SELECT * FROM '{world.path}' ORDER BY name DESC) TO '{turned}'")
    again = replace(spring, table=read(turned, policy=POLICY)).write(tmp_path / "second", recipients=["north"])
    assert again[0].new
    one, other = (rows_in(tmp_path / place / "north" / "data.parquet") for place in ("first", "second"))
    assert sorted(map(repr, one)) == sorted(map(repr, other))
    same = [row for row, its in zip(one, other, strict=True) if row == its]
    marks = spring.manifest.codebook.marks
    names = ("zip", "year", "sex")
    decoys = {labels for labels, decoy in zip(marks.labels, marks.decoy, strict=True) if decoy}
    order = [marks.columns.index(name) for name in names]
    known = {tuple(str(labels[place]) for place in order) for labels in decoys}
    shown = [row for row in one if tuple(map(str, row[:3])) in known]
    assert len(shown) > 20
    assert len([row for row in same if tuple(map(str, row[:3])) in known]) < len(shown) / 4


def test_the_public_name_is_the_same_function(world: World, store: Path) -> None:
    about = {**SETTINGS, "name": "spring", "store": store}
    assert discreet.release(world.table, world.population, NAMES, **about).recipients == tuple(NAMES)


@MOSTLY_SQLITE
def test_a_late_recipient_changes_nobody_elses_copy(world: World, store_url: str, tmp_path: Path) -> None:
    spring = made(world, store_url)
    spring.write(tmp_path / "out")
    before = {name: (tmp_path / "out" / name / "data.parquet").read_bytes() for name in NAMES}
    bits = spring.manifest.codebook.present
    later = spring.add_recipient("west")
    assert later.recipients == ("north", "south", "west")
    assert (later.manifest.codebook.present[:2] == bits).all()
    done = later.write(tmp_path / "out")
    assert [copy.new for copy in done] == [False, False, True]
    assert all((tmp_path / "out" / name / "data.parquet").read_bytes() == before[name] for name in NAMES)
    assert events(store_url)[3:] == ["releases.sealed", "releases.delivered"]
    assert open_release("spring", store_url).kept.revision == 1


def test_a_late_recipient_needs_neither_population_nor_the_first_process(
    world: World, store: Path, tmp_path: Path
) -> None:
    made(world, store).write(tmp_path / "out")
    later = Release.open("spring", store=store, table=world.again(), actor="bob").add_recipient("west", "east")
    assert [copy.new for copy in later.write(tmp_path / "out", format="csv", recipients=["west"])] == [True]
    with pytest.raises(UsageError, match="same"):
        later.add_recipient("WEST")


def test_asking_again_goes_on_with_the_same_version(world: World, store: Path) -> None:
    first = made(world, store)
    again = made(world, store)
    assert (again.version, again.opened.kept.digest) == (1, first.opened.kept.digest)
    more = made(world, store, ["north", "west"])
    assert more.recipients == ("north", "south", "west")
    assert (more.version, more.opened.kept.revision) == (1, 1)
    assert events(store) == ["releases.sealed", "releases.sealed"]


def test_other_data_are_the_next_version_and_nobody_can_collude_with_himself(
    world: World, store: Path, tmp_path: Path
) -> None:
    first = made(world, store)
    with duckdb.connect() as connection:
        newer = tmp_path / "newer.parquet"
        connection.execute(f"COPY (SELECT * FROM '{world.path}' WHERE name NOT LIKE '%77') TO '{newer}'")
    second = release(
        read(newer, policy=POLICY),
        world.population,
        [*NAMES, "west"],
        name="spring",
        store=store,
        actor="ann",
        **SETTINGS,
    )
    assert second.version == 2
    one, other = first.manifest.codebook, second.manifest.codebook
    shared = [labels for labels in other.marks.labels if labels in one.marks.labels]
    assert len(shared) == len(other.marks) >= 30
    for name in NAMES:
        here = dict(zip(one.marks.labels, one.row(name).tolist(), strict=True))
        there = dict(zip(other.marks.labels, other.row(name).tolist(), strict=True))
        assert all(here[labels] == there[labels] for labels in shared)
    second.write(tmp_path / "two")
    first = replace(first, table=world.again())
    first.write(tmp_path / "one")
    made_up = {labels for labels, decoy in zip(other.marks.labels, other.marks.decoy, strict=True) if decoy}
    old, new = (
        {row for row in rows_in(tmp_path / folder / "north" / "data.parquet") if tuple(map(str, row[:3])) in made_up}
        for folder in ("one", "two")
    )
    assert old == new  # the made-up rows that he had are the made-up rows that he has
    assert old


def test_a_version_that_keeps_too_few_marks_is_refused(world: World, store: Path, tmp_path: Path) -> None:
    made(world, store)
    other = town(tmp_path, seed=77, zips=6)
    asked: dict[str, Any] = {**SETTINGS, "name": "spring", "store": store}
    with pytest.raises(Refused, match="marks are left") as caught:
        release(other.table, other.population, NAMES, **asked)
    assert "another name" in caught.value.remedy


def test_another_law_would_show_the_marks(world: World, store: Path) -> None:
    made(world, store)
    with pytest.raises(Refused, match=r"law 0\.2/0\.5"):
        made(world, store, law="0.5")


def test_all_versions_are_at_the_same_levels(world: World, store: Path) -> None:
    made(world, store)
    for levels in ({"zip": 1, "year": 0, "sex": 0}, (1, 0, 0)):
        with pytest.raises(Refused, match="other levels"):
            made(world, store, levels=levels, k=4)


def test_a_new_column_has_no_values_in_made_up_rows(world: World, store: Path, tmp_path: Path) -> None:
    made(world, store)
    with duckdb.connect() as connection:
        wider = tmp_path / "wider.parquet"
        connection.execute(f"COPY (SELECT *, 1 AS extra FROM '{world.path}' LIMIT 1700) TO '{wider}'")
    with pytest.raises(Refused, match="columns"):
        release(read(wider, policy=WITH_EXTRA), world.population, NAMES, name="spring", store=store, **SETTINGS)


@MOSTLY_SQLITE
def test_who_was_retired_gets_nothing_more_but_stays_traceable(world: World, store_url: str, tmp_path: Path) -> None:
    spring = made(world, store_url)
    spring.write(tmp_path / "out")
    spring = spring.retire("north")
    assert [copy.state for copy in spring.copies] == ["retired", "delivered"]
    assert events(store_url)[-1] == "releases.retired"
    assert spring.retire("north").copies == spring.copies  # asked twice, done once
    assert events(store_url).count("releases.retired") == 1
    assert "north" in open_release("spring", store_url).traceable.recipients
    with pytest.raises(Refused, match="retired"):
        spring.write(tmp_path / "again", recipients=["north"])
    assert [copy.recipient for copy in spring.write(tmp_path / "again")] == ["south"]
    with pytest.raises(Refused, match="retired"):
        made(world, store_url)
    with pytest.raises(UsageError, match="no such recipient"):
        spring.retire("nobody")


def test_four_eyes(world: World, store_url: str, tmp_path: Path) -> None:
    spring = made(world, store_url, approved=False)
    assert {copy.state for copy in spring.copies} == {"planned"}
    with pytest.raises(Refused, match="not approved"):
        spring.write(tmp_path / "out")
    with pytest.raises(Refused, match="cannot approve"):
        spring.approve(actor="ann")
    assert not (tmp_path / "out").exists()
    approved = spring.approve(actor="bob")
    assert len(approved.write(tmp_path / "out")) == 2
    assert events(store_url)[1:3] == ["web.approved", "web.approved"]
    assert set(STATES) >= {copy.state for copy in approved.refreshed().copies}


# -- refusals -------------------------------------------------------------------------------------------------------


def test_a_gate_that_is_closed_stops_before_anything(world: World, store: Path) -> None:
    with pytest.raises(Refused, match="2 missing"):
        made(world, store, gates=Gates("register", "CC0"))
    assert events(store) == []


def test_a_population_that_does_not_cover_the_data(world: World, store: Path) -> None:
    elsewhere = Classes.of(["zip", "year", "sex"], [("900", "1950", "F")], [99], rules=POLICY.rules)
    with pytest.raises(PopulationError, match="wrong population"):
        release(world.table, elsewhere, NAMES, name="spring", store=store, **SETTINGS)
    assert events(store) == []


def test_too_few_marks_are_refused_unless_forced(store: Path, tmp_path: Path) -> None:
    small = town(tmp_path, zips=8, years=8)
    with pytest.raises(Refused, match="below 30") as caught:
        made(small, store)
    assert caught.value.exit_code == 5
    with pytest.raises(Refused, match="below 30"):
        plan(small.table, small.population, 3, **{name: SETTINGS[name] for name in ("k", "suppression", "levels")})
    forced = made(small, store, force=True)
    assert len(forced.manifest.codebook.marks) < 30
    assert len(forced.write(tmp_path / "out")) == 2
    tiny = town(tmp_path, zips=3, years=2, name="tiny.parquet")
    none = made(tiny, store, name="none", force=True)
    assert len(none.manifest.codebook.marks) == 0
    assert len(none.write(tmp_path / "none")) == 2


@MOSTLY_SQLITE
def test_a_manifest_that_was_swapped_or_changed_is_refused(world: World, store_url: str, tmp_path: Path) -> None:
    spring = made(world, store_url)
    other = made(world, store_url, name="autumn")
    old = spring.opened.kept.sealed
    for forged in (other.opened.kept.sealed, old[:-1] + bytes([old[-1] ^ 1]), b"rubbish"):
        from discreet.releases.manifest import digest

        with Store.open(store_url) as opened, opened.writing() as connection:
            connection.execute(
                update(RELEASE).where(RELEASE.c.name == "spring").values(sealed=forged, digest=digest(forged))
            )
        for refused in (lambda: open_release("spring", store_url), lambda: spring.write(tmp_path / "out")):
            with pytest.raises(IntegrityError, match="changed or swapped") as caught:
                refused()
            assert caught.value.exit_code == 6
    assert not (tmp_path / "out").exists()


@MOSTLY_SQLITE
def test_an_older_revision_put_back_is_refused(world: World, store_url: str) -> None:
    spring = made(world, store_url)
    spring.add_recipient("west")
    old = spring.opened.kept
    with Store.open(store_url) as opened, opened.writing() as connection:
        values = {"sealed": old.sealed, "digest": old.digest, "revision": 0}
        connection.execute(update(RELEASE).where(RELEASE.c.name == "spring").values(values))
    with pytest.raises(IntegrityError, match="changed or swapped"):
        open_release("spring", store_url)


def test_other_keys_open_nothing(world: World, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spring = made(world, store)
    Keys.make(tmp_path / "other.keys")
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "other.keys"))
    with pytest.raises(IntegrityError, match="other keys"):
        open_release("spring", store)
    with pytest.raises(IntegrityError, match="other keys"):
        spring.write(tmp_path / "out")


def test_the_key_of_a_release_is_its_own(store: Path) -> None:
    with Ledger.open(store) as ledger:
        assert Registry(ledger).key("a") != Registry(ledger).key("b")


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a\\b", "..", "x" * 65, "line\nbreak", " padded", "nul\0"])
def test_names_that_cannot_name_a_folder_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="1 to 64"):
        check_names([name], "recipient")


def test_names_that_a_disk_would_not_tell_apart_are_refused(world: World, store: Path) -> None:
    with pytest.raises(UsageError, match="same"):
        made(world, store, ["North", "north"])
    with pytest.raises(UsageError, match="at least one recipient"):
        made(world, store, [])


def test_a_folder_that_is_taken_is_left_alone(world: World, store: Path, tmp_path: Path) -> None:
    spring = made(world, store)
    (tmp_path / "out" / "north").mkdir(parents=True)
    (tmp_path / "out" / "north" / "data.parquet").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        spring.write(tmp_path / "out")
    assert (tmp_path / "out" / "north" / "data.parquet").read_text() == "mine"
    assert events(store) == ["releases.sealed"]


def test_bad_requests_are_told_in_words(world: World, store: Path, tmp_path: Path) -> None:
    spring = made(world, store)
    with pytest.raises(UsageError, match="written as"):
        spring.write(tmp_path / "out", format="xlsx")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="from the table"):
        replace(spring, table=None).write(tmp_path / "out")
    with pytest.raises(UsageError, match="no release 'nothing'"):
        open_release("nothing", store)
    with pytest.raises(UsageError, match="version 9"):
        open_release("spring", store, version=9)
    with pytest.raises(UsageError, match="made of a table"):
        release(world.population, world.population, NAMES, name="x", store=store, **SETTINGS)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="At these levels"):
        made(world, store, name="strict", suppression=0.0)


def test_levels_are_found_where_none_are_given(world: World) -> None:
    found = plan(world.table, world.population, 3, k=3, suppression=0.9, force=True)
    assert set(found.levels) == set(POLICY.quasi)
    assert found.to_dict()["suppressed"] <= 0.9 * found.node.linked.records
    assert found.words()[0].startswith(f"{found.node.linked.released.records:,} of ")
    assert repr(found).startswith("Plan(")


def test_two_who_add_at_once_do_not_lose_each_other(world: World, store: Path) -> None:
    spring = made(world, store)
    with Ledger.open(store) as ledger:
        registry = Registry(ledger)
        stale = registry.open(registry.require("spring")).with_recipients(["east"], key=registry.key("spring"))
        spring.add_recipient("west")
        with pytest.raises(Outdated):
            registry.seal(stale, actor="bob")
        assert registry.require("spring").recipients == ("north", "south", "west")
        assert registry.open(registry.require("spring")).recipients == ("north", "south", "west")


def test_marks_follow_the_key_and_not_the_machine(world: World, store: Path, tmp_path: Path) -> None:
    one, other = made(world, store), made(world, tmp_path / "other.db", force=True)
    assert not np.array_equal(one.manifest.codebook.present, other.manifest.codebook.present)
    with Ledger.open(store) as ledger:
        again = release(world.again(), world.population, NAMES, name="spring", store=ledger, actor="ann", **SETTINGS)
    assert again.opened.kept.sealed == one.opened.kept.sealed


def test_nothing_secret_shows_in_a_repr_or_json(world: World, store: Path) -> None:
    spring = made(world, store)
    assert repr(spring) == "Release(spring version 1, 2 recipients)"
    told = repr(spring.to_dict())
    decoy = spring.manifest.codebook.marks.labels[-1]
    assert str(decoy) not in told
    assert "present" not in told
