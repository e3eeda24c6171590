"""Extensions of the paper's model in the lab: for one target, and one purchase of the list for everybody."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from fastapi import FastAPI

from discreet.attacker import Attack
from discreet.attacker.extensions import Extensions
from discreet.attacker.purchases import External
from discreet.web.datasets import store as datasets
from discreet.web.jobs import store as jobs
from discreet.web.jobs.supervisor import Supervisor
from discreet.web.lab import controls
from discreet.web.lab.pages import example, result
from tests.web.client import signed_in
from tests.web.jobs.working import look, work
from tests.web.release_data import words_of
from tests.web.samples import account_number


def test_unconfirmed_success_and_an_unsure_gain_are_shown(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    assert "Beyond the paper: one target" not in words_of(browser.get("/lab"))
    page = words_of(browser.get("/lab?recognised=90&mistaken=10&unsure=20&group=12"))
    for words in (
        "Beyond the paper: one target among 12 people",
        "success not confirmed",
        "uncertain amounts",
        "mistaken",
    ):
        assert words in page
    assert browser.get("/lab?mistaken=200").status_code == 422


def test_they_are_those_of_the_attack_file() -> None:
    query = controls.read([("recognised", "90"), ("mistaken", "10"), ("group", "12")])
    found = Extensions(true_positive=0.9, false_positive=0.1).of_group(query.attack, 12)
    assert [name for name, _ in query.beyond] == ["the paper's model", "success not confirmed"]
    assert f"{found['unconfirmed']['risk']:,.4g}" in query.beyond[1][1]
    assert controls.read([]).beyond == []


def test_a_belief_and_several_lists_are_those_of_the_attack_file() -> None:
    query = controls.read([("belief", "0 0.5, 0.5"), ("lists", "1000:1-3 50:4"), ("group", "4"), ("prior", "90")])
    assert not query.wrong
    lists = {"list 1": External(1000, [0, 1, 2]), "list 2": External(50, [3])}
    found = Extensions(belief=(0, 0.5, 0.5), lists=lists).of_group(query.attack, 4)
    rows = dict(query.beyond)
    assert f"{found['belief']['risk']:,.4g}" in rows["own belief about the group"]
    assert f"{found['lists']['risk']:,.4g}" in rows["several lists for sale"]
    assert "list 2 and 1 exploits" in rows["several lists for sale"]


def test_the_model_of_the_paper_tries_nobody_where_the_list_is_not_bought() -> None:
    rows = dict(controls.read([("access_cost", "20000"), ("belief", "0 1")]).beyond)
    assert rows["the paper's model"] == "exploits 0; risk 0"


def test_the_list_is_bought_once_for_everybody() -> None:
    costly = [("access_cost", "20000")]
    alone, together = (result(controls.read([*costly, *more]), example()) for more in ([], [("shared", "yes")]))
    attack, targets = controls.read(costly).attack, example().targets
    assert alone.everybody == []
    assert targets.attacked(attack).known.attacked == 0
    bought = attack.shared(targets.groups, targets.people)
    assert bought.accesses
    ((name, words),) = together.everybody
    assert name == "one purchase for all records"
    assert f"reidentified {bought.expected_reidentified:,.4g}" in words
    assert f"only together {bought.records_only_together:,}" in words


def test_each_is_on_the_page_and_what_is_wrong_is_said_beside_it(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    page = words_of(browser.get("/lab?shared=yes&belief=0+0.5+0.5&lists=100:1-6+50:5-12"))
    for words in (
        "Beyond the paper: everybody",
        "own belief about the group",
        "several lists for sale",
        "deterring price",
    ):
        assert words in page
    wrong = browser.get("/lab?lists=100:1-6&group=5")
    assert wrong.status_code == 422
    assert "A list holds person 6, but only 5 are alike." in words_of(wrong)
    assert "adding up to 1" in words_of(browser.get("/lab?belief=0.5"))


def test_the_file_on_the_page_holds_every_extension() -> None:
    given = "shared=yes recognised=90 mistaken=10 unsure=20"
    pairs = [tuple(one.split("=")) for one in given.split()]
    query = controls.read([*pairs, ("belief", "0 0.5 0.5"), ("lists", "100:1-6 50.5:5-12")])  # type: ignore[list-item]
    parameters, more = Extensions.split(tomllib.loads(controls.toml(query.attack, query.extensions))["attack"])
    assert more == query.extensions
    assert Attack.from_dict(parameters).gain == query.attack.gain


ROWS = [("1", "0.2")] * 3 + [("1", "1")] + [("2", "0.5")] * 60
POLICY = '[columns.zip]\nrole = "quasi"\n[columns.p]\nrole = "other"\n'


def keep_table(app: FastAPI, rows: list[tuple[str, str]]) -> int:
    """A data set with a column that holds a prior for each record."""
    site, number = app.state.site, datasets.new_number()
    path = site.places.folder.new("upload", "csv")
    with site.places.folder.create(path) as file:
        file.write(b"zip,p\n" + b"".join(f"{place},{prior}\n".encode() for place, prior in rows))
    about = {"kind": "upload", "place": path.name, "size": path.stat().st_size, "policy": POLICY}
    account = account_number(app, "custodian")
    with site.store.writing() as connection:
        datasets.add(connection, number, name="p.csv", columns=("zip", "p"), account=account, now=site.stamp(), **about)
    return number


@pytest.mark.parametrize("k", [1, 20])
def test_a_column_holds_a_prior_for_each_record(app: FastAPI, k: int) -> None:
    supervisor = app.state.site.supervisor = Supervisor(app.state.site)
    number = keep_table(app, ROWS)
    browser = signed_in(app, "custodian")
    assert '<option value="p">p</option>' in browser.get(f"/datasets/{number}/attacker").text
    assert browser.post(f"/datasets/{number}/attack", {"prior_column": "p"}).status_code == 303
    work(supervisor, newest(app))
    page = words_of(browser.get(f"/lab?dataset={number}&gain=9000&k={k}"))
    attack = controls.read([("gain", "9000")]).attack
    risks = [
        replace(attack, prior=float(prior)).known([max(k, 4 if place == "1" else 60)]).reidentification[0]
        for place, prior in ROWS
    ]
    assert 0 < sum(risks) < len(ROWS)
    attacked = sum(risk > 0 for risk in risks)
    assert f"a prior for each record reidentified {sum(risks):,.4g}; attacked {attacked}; least 0.2; most 1" in page
    with app.state.site.store.reading() as connection:
        found = jobs.result(connection, newest(app))
    assert found is not None
    assert "--set=prior_column=p" in (found.report or "")


def test_a_column_that_cannot_hold_priors_is_refused(app: FastAPI) -> None:
    supervisor = app.state.site.supervisor = Supervisor(app.state.site)
    number = keep_table(app, [("1", "much"), ("1", "0.5")])
    browser = signed_in(app, "custodian")
    for column in ("zip", "stranger"):
        answer = browser.post(f"/datasets/{number}/attack", {"prior_column": column})
        assert answer.status_code == 422
        assert "no quasi-identifier" in words_of(answer)
    browser.post(f"/datasets/{number}/attack", {"prior_column": "p"})
    job = newest(app)
    work(supervisor, job)
    problem = look(app, job).problem or ""
    assert "for 1 people" in problem
    assert "much" not in problem


def newest(app: FastAPI) -> int:
    """The number of the job that was queued last."""
    with app.state.site.store.reading() as connection:
        return jobs.newest(connection, kinds=("attack",))[0].id
