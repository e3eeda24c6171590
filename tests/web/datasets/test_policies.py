"""Policies of data sets: confirmed by hand or by form, wrong ones refused at their line, files only those that came along."""

from __future__ import annotations

import html

import pytest
from fastapi import FastAPI

from discreet.errors import PolicyError
from discreet.policy import Policy
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.store import Dataset
from discreet.web.jobs import store as jobs
from tests.web.client import signed_in
from tests.web.samples import POLICY, make_dataset
from tests.web.snapshot import entries


def found(app: FastAPI, number: int) -> Dataset:
    with app.state.site.store.reading() as connection:
        one = datasets.find(connection, number)
    assert one is not None
    return one


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[columns.sex]\nrole = "qasi"\n', 2, "qasi"),
        ("[columns.sex\n", 1, "not valid TOML"),
        ('[columns.sex]\nrole = "quasi"\nhierarchy = "/etc/passwd"\n', 3, "no such file"),
        ('[columns.sex]\nrole = "quasi"\nhierarchy = "../other.csv"\n', 3, "no such file"),
        ('[columns.sx]\nrole = "quasi"\n', 1, "no column 'sx'"),
        ('[data]\ncount = "n"\n', 2, "no column 'n'"),
        ("[colums]\n", 1, "unknown key"),
    ],
)
def test_a_wrong_policy_is_refused_at_its_line(app: FastAPI, text: str, line: int, words: str) -> None:
    number = make_dataset(app, "custodian")
    browser = signed_in(app, "custodian")
    answer = browser.post(f"/datasets/{number}/policy", {"policy": text, "version": "0"})
    assert answer.status_code == 422
    assert f"Line {line}: " in answer.text
    assert words in html.unescape(answer.text)
    assert text.splitlines()[0] in answer.text  # what was typed is not lost
    assert found(app, number).policy == POLICY
    assert "/tmp" not in answer.text  # noqa: S108 - no place of this machine is told


def test_a_policy_is_put_in_force_once(app: FastAPI) -> None:
    number = make_dataset(app, "custodian")
    browser = signed_in(app, "custodian")
    text = '[columns.sex]\r\nrole = "quasi"\r\n'
    assert browser.post(f"/datasets/{number}/policy", {"policy": text, "version": "0"}).status_code == 303
    one = found(app, number)
    assert (one.policy, one.version) == (text.replace("\r", ""), 1)
    assert Policy.parse(one.policy or "").digest in entries(app)[-1]["body"]
    late = browser.post(f"/datasets/{number}/policy", {"policy": POLICY, "version": "0"})
    assert late.status_code == 409
    assert "The policy was changed by another person" in late.text
    assert found(app, number).version == 1


def test_roles_are_changed_by_form_and_the_risk_is_asked_for(app: FastAPI) -> None:
    number = make_dataset(app, "custodian", policy="# mine\n" + POLICY)
    browser = signed_in(app, "custodian")
    page = browser.get(f"/datasets/{number}").text
    assert 'aria-label="Role of sex"' in page
    form = {"version": "0", "role-0": "sensitive", "rule-0": "", "role-1": "quasi", "rule-1": "{ widths = [10] }"}
    answer = browser.post(f"/datasets/{number}/roles", form)
    assert answer.headers["location"] == f"/datasets/{number}?said=roles"
    one = found(app, number)
    assert (one.policy or "").startswith("# mine\n")
    policy = Policy.parse(one.policy or "")
    assert (policy.quasi, policy.sensitive) == (("age",), ("sex",))
    with app.state.site.store.reading() as connection:
        (job,) = jobs.newest(connection)
    assert (job.kind, job.asked["policy"]) == ("assess", one.policy)
    assert browser.post(f"/datasets/{number}/roles", form).status_code == 409
    nobody = {"version": "1", "role-0": "other", "rule-0": "", "role-1": "other", "rule-1": ""}
    assert browser.post(f"/datasets/{number}/roles", nobody).headers["location"].endswith("said=roles-only")
    wrong = {**nobody, "version": "2", "role-0": "boss"}
    assert browser.post(f"/datasets/{number}/roles", wrong).status_code == 422
    broken = {**nobody, "version": "2", "rule-0": "{ mask = ["}
    assert browser.post(f"/datasets/{number}/roles", broken).status_code == 422


def test_a_hierarchy_comes_as_a_file_and_is_offered(app: FastAPI) -> None:
    number = make_dataset(app, "custodian")
    browser = signed_in(app, "custodian")
    send = f"/datasets/{number}/hierarchies"
    assert browser.post(send, files={"file": ("sexes.csv", b"F;*\nM;*\n")}).status_code == 303
    assert "the file sexes.csv" in browser.get(f"/datasets/{number}").text
    text = '[columns.sex]\nrole = "quasi"\nhierarchy = "sexes.csv"\n'
    assert browser.post(f"/datasets/{number}/policy", {"policy": text, "version": "0"}).status_code == 303


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("", b"", 422),
        ("../x.csv", b"F;*\n", 303),
        ("x y.csv", b"F;*\n", 422),
        ("x.toml", b"F;*\n", 422),
        ("x.csv", b"", 422),
        ("x.csv", b"\xff\xfe", 422),
        ("x.csv", b"F;a\nF;b\n", 422),
        ("x.csv", b"F;*\nM\n", 422),
        ("x.csv", b"a;*\n" * 1_200_000, 413),
    ],
    ids=lambda value: value[:12] if isinstance(value, bytes | str) else str(value),
)
def test_hierarchies_that_are_none(app: FastAPI, name: str, content: bytes, status: int) -> None:
    number = make_dataset(app, "custodian")
    answer = signed_in(app, "custodian").post(f"/datasets/{number}/hierarchies", files={"file": (name, content)})
    assert answer.status_code == status, answer.text
    with app.state.site.store.reading() as connection:
        kept = datasets.hierarchies(connection, number)
    assert list(kept) == (["x.csv"] if status == 303 else [])


def test_only_files_that_came_along_are_read() -> None:
    with pytest.raises(PolicyError, match="no such file"):
        policies.parse('[columns.x]\nrole = "quasi"\nhierarchy = "a.csv"\n', {"b.csv": "x;*\n"})


def test_what_is_offered_begins_with_what_there_is() -> None:
    offered = policies.choices("date", '{ dates = ["year"] }', {"any": "Person"}, {"d.csv": ""})
    assert [one.key for one in offered][:2] == ["", '{ any = "Person" }']
    assert [policies.rule_of(one.key) for one in offered] == [one.rule for one in offered]
    assert len({one.key for one in offered}) == len(offered)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"kind": "number", "size": "1000"}, (None, 1000)),
        ({"kind": "none"}, (None, None)),
        ({"kind": "number", "size": "0"}, None),
        ({"kind": "number", "size": ""}, None),
        ({"kind": "dataset", "dataset": "5"}, None),
        ({"kind": "dataset", "dataset": "SELF"}, None),
        ({"kind": "everybody"}, None),
    ],
)
def test_the_population(app: FastAPI, form: dict[str, str], expected: tuple[int | None, int | None] | None) -> None:
    number = make_dataset(app, "custodian")
    browser = signed_in(app, "custodian")
    given = {key: value.replace("SELF", str(number)) for key, value in form.items()}
    answer = browser.post(f"/datasets/{number}/population", given)
    one = found(app, number)
    if expected is None:
        assert answer.status_code == 422
        expected = (None, None)
    assert (one.population, one.population_size) == expected


def test_another_data_set_is_the_population_until_it_is_removed(app: FastAPI) -> None:
    number, other = make_dataset(app, "custodian"), make_dataset(app, "custodian")
    browser = signed_in(app, "custodian")
    form = {"kind": "dataset", "dataset": str(other)}
    assert browser.post(f"/datasets/{number}/population", form).status_code == 303
    assert found(app, number).population == other
    assert "without a population" in browser.get(f"/datasets/{other}/remove").text
    browser.post(f"/datasets/{other}/remove")
    assert found(app, number).population is None
