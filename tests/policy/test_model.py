"""The policy file: strict, and helpful about what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import HierarchyError, PolicyError, UsageError
from discreet.kernel import AnyValue, AutoMask, Cuts, Dates, Mask, Prefix, Rule, TopBottomCode, Tree, Widths
from discreet.policy import Policy

SOME_JOBS = Tree((("Farmer", "Agriculture", "*"), ("Baker", "Trade", "*")), name="the map")
WHOLE = """\
[data]
delimiter = ";"
encoding = "latin-1"
count = "n"

[limits]
threshold = 0.1
at_risk = 0.05

[population]
size = 1000
delimiter = ","
count = "people"

[columns.zip]
role = "quasi"
hierarchy = { mask = 5 }
[columns."year of birth"]
role = "quasi"
hierarchy = { widths = [2, 4] }
[columns.sex]
role = "quasi"
hierarchy = { any = "Person" }
[columns.admitted]
role = "quasi"
hierarchy = { dates = ["month", "year"], format = "%d.%m.%Y" }
[columns.diagnosis]
role = "sensitive"
hierarchy = "sub/diagnosis.csv"
[columns.name]
role = "identifier"
[columns.note]
role = "other"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "diagnosis.csv").write_text("flu;infection;*\nburn;injury;*\n", encoding="utf-8")
    return tmp_path


def problem(folder: Path, text: str) -> PolicyError:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert caught.value.exit_code == 4
    assert str(path) in str(caught.value)
    return caught.value


def test_every_setting_is_read(folder: Path) -> None:
    path = folder / "policy.toml"
    path.write_text(WHOLE, encoding="utf-8")
    policy = Policy.load(path)
    assert policy.quasi == ("zip", "year of birth", "sex", "admitted")
    assert (policy.sensitive, policy.identifiers, policy.named("other")) == (("diagnosis",), ("name",), ("note",))
    assert (policy.delimiter, policy.encoding, policy.count) == (";", "latin-1", "n")
    assert (policy.limits.threshold, policy.limits.at_risk, policy.population.size) == (0.1, 0.05, 1000)
    rules = [policy.rule(name) for name in policy.quasi]
    assert rules == [Mask(5), Widths((2, 4)), AnyValue("Person"), Dates(("month", "year"), "%d.%m.%Y")]
    assert isinstance(policy.rule("diagnosis"), Tree)
    assert policy.rule("name").height == 1


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ('{ mask = "auto" }', AutoMask()),
        ("{ prefix = [3, 1] }", Prefix((3, 1))),
        ("{ cuts = [0, 18.5, 65] }", Cuts((0, 18.5, 65))),
        ("{ top = 90, bottom = 15, widths = [5, 10] }", TopBottomCode(90, 15, (5, 10))),
        ("{ bottom = 15, widths = [5] }", TopBottomCode(bottom=15, widths=(5,))),
        ("{ widths = [5], top = 90.5 }", TopBottomCode(90.5, widths=(5,))),
        ("{ top = 90 }", TopBottomCode(90)),
        ('{ map = { "Farmer" = ["Agriculture", "*"], Baker = ["Trade", "*"] } }', SOME_JOBS),
    ],
)
def test_every_kind_of_hierarchy_is_read(written: str, rule: Rule) -> None:
    policy = Policy.parse(f'[columns.a]\nrole = "quasi"\nhierarchy = {written}\n')
    assert policy.rule("a") == rule


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{ mask = "automatic" }', "It must be one of: auto"),
        ("{ prefix = [1, 3] }", "does not get shorter"),
        ("{ prefix = [] }", "hierarchy.prefix"),
        ("{ cuts = [5, 4] }", "do not grow"),
        ("{ cuts = [nan] }", "at least one number"),
        ('{ cuts = ["a"] }', "hierarchy.cuts"),
        ("{ top = 15, bottom = 90 }", "not below top"),
        ("{ top = 90, widths = [5, 7] }", "do not nest"),
        ("{ top = 90, width = [5] }", "Did you mean 'widths'"),
        ('{ map = { a = ["x", "*"], b = ["x"] } }', "row 2 of the map has 2 entries"),
        ('{ map = { a = ["x", "1"], b = ["x", "2"] } }', "belongs to two values"),
        ("{ map = {} }", "hierarchy.map"),
    ],
)
def test_what_is_wrong_with_a_hierarchy_is_said_with_its_line(folder: Path, written: str, said: str) -> None:
    error = problem(folder, f'[columns.a]\nrole = "quasi"\nhierarchy = {written}\n')
    assert said in str(error)
    assert error.line == 3


def test_missing_codes_and_decimals_are_read() -> None:
    text = '[data]\nmissing = ["", "NA", -9, 99.5]\ndecimal = ","\n[columns.a]\nrole = "quasi"\nhierarchy = { widths = [5] }\n'
    policy = Policy.parse(text)
    assert (policy.missing, policy.decimal, policy.rule("a")) == (("", "NA", -9, 99.5), ",", Widths((5,), decimal=","))
    assert (policy.for_population().missing, policy.for_population().decimal) == (policy.missing, ",")
    assert (Policy().missing, Policy().decimal) == ((), ".")


@pytest.mark.parametrize(
    ("line", "said"),
    [("missing = [true]", "data.missing"), ("missing = 9", "data.missing"), ('decimal = ";"', "one of")],
)
def test_what_is_no_code_or_decimal_is_refused(folder: Path, line: str, said: str) -> None:
    error = problem(folder, f"[data]\n{line}\n")
    assert said in str(error)
    assert error.line == 2


def test_settings_of_columns_are_read() -> None:
    text = '[columns.a]\nrole = "quasi"\nhierarchy = { widths = [5, 10] }\nweight = 2\nat_least = 1\nat_most = 2\n'
    policy = Policy.parse(text)
    assert (policy.column_weights, policy.at_least, policy.at_most) == ({"a": 2.0}, {"a": 1}, {"a": 2})
    assert (Policy().column_weights, Policy().at_least, Policy().at_most) == ({}, {}, {})


@pytest.mark.parametrize(
    ("role", "keys", "said"),
    [
        ("quasi", "at_least = 4", "levels of the hierarchy are 0 to 3"),
        ("quasi", "at_most = 4", "levels of the hierarchy are 0 to 3"),
        ("quasi", "at_least = -1", "at_least"),
        ("quasi", "weight = 0", "weight"),
        ("quasi", "weight = inf", "weight"),
        ("quasi", "at_most = 1\nat_least = 2", "no level is left"),
        ("other", "weight = 2.0", "only quasi-identifiers are generalised"),
        ("sensitive", "at_least = 1", "only quasi-identifiers are generalised"),
    ],
)
def test_settings_that_cannot_be_respected_are_refused(folder: Path, role: str, keys: str, said: str) -> None:
    error = problem(folder, f'[columns.a]\nrole = "{role}"\nhierarchy = {{ widths = [5, 10] }}\n{keys}\n')
    assert said in str(error)
    assert error.line == 4


def test_sensitivity_and_limits_of_misuse_are_read(folder: Path) -> None:
    path = folder / "policy.toml"
    tables = (
        "[sensitivity.a]\nvalues = { Gold = 1 }\n[sensitivity.a.contexts.night]\nbins = [[5, 0.5]]\notherwise = 1.0\n"
    )
    path.write_text(f"{tables}[misuse]\nx = inf\nlimit = 3\n", encoding="utf-8")
    policy = Policy.load(path)
    assert (policy.misuse.x, policy.misuse.limit) == (float("inf"), 3.0)
    night = {"values": {}, "bins": [[5.0, 0.5]], "otherwise": 1.0}
    assert policy.sensitivity == {"a": {"values": {"Gold": 1.0}, "bins": [], "contexts": {"night": night}}}
    assert (Policy().misuse.x, Policy().misuse.limit, dict(Policy().sensitivity)) == (2.0, None, {})


def test_the_population_is_read_with_its_own_settings(folder: Path) -> None:
    path = folder / "policy.toml"
    path.write_text(WHOLE, encoding="utf-8")
    population = Policy.load(path).for_population()
    assert population.quasi == ("zip", "year of birth", "sex", "admitted")
    assert (population.sensitive, population.delimiter, population.encoding, population.count) == (
        (),
        ",",
        None,
        "people",
    )


def test_paths_are_relative_to_the_policy_file(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (folder / "policy.toml").write_text(WHOLE, encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert Policy.load(folder / "policy.toml").rule("diagnosis").height == 3


@pytest.mark.parametrize(
    ("line", "said", "number"),
    [
        ("[dta]\n", "Did you mean 'data'?", 1),
        ('[data]\n\ndelimeter = ";"\n', "Did you mean 'delimiter'?", 3),
        ('[columns.zip]\nroll = "quasi"\n', "Did you mean 'role'?", 2),
        ('[columns.zip]\nrole = "quazi"\n', "Did you mean 'quasi'?", 2),
        ('[columns.zip]\nrole = "boss"\n', "identifier, quasi, sensitive, other", 2),
        ("[columns.zip]\nhierarchy = { mask = 5 }\n", "'columns.zip.role' is missing", 1),
        ('[columns.zip]\nrole = "quasi"\nhierarchy = { masc = 5 }\n', "is no hierarchy", 3),
        ('[columns.zip]\nrole = "quasi"\nhierarchy = { mask = "5" }\n', "columns.zip.hierarchy.mask", 3),
        ('[columns.zip]\nrole = "quasi"\nhierarchy = { mask = 5, widths = [2] }\n', "has two rules", 3),
        ('[columns.zip]\nrole = "quasi"\nhierarchy = { widths = [2, 3] }\n', "do not nest", 3),
        ('[columns.zip]\nrole = "quasi"\nhierarchy = { dates = ["weak"] }\n', "hierarchy", 3),
        ('[columns.zip]\nrole = "quasi"\nhierarchy = { dates = ["year", "month"] }\n', "fine to coarse", 3),
        ('[columns.zip]\nrole = "quasi"\nhierarchy = "none.csv"\n', "no file", 3),
        ("[data]\ndelimiter = ;\n", "not valid TOML", 2),
        ('[data]\ndelimiter = ";;"\n', "data.delimiter", 2),
        ("[limits]\nthreshold = 2\n", "limits.threshold", 2),
        ("[limits]\nat_risk = -1.0\n", "limits.at_risk", 2),
        ('[columns."marital status"]\nrol = "quasi"\n', "unknown key 'columns.marital status.rol'", 2),
        ("[sensitivity.a]\nvalues = { Gold = 2.0 }\n", "sensitivity.a.values.Gold", 2),
        ("[sensitivity.a]\n\nvalue = { Gold = 1.0 }\n", "Did you mean 'values'?", 3),
        ("[sensitivity.a]\nbins = [[2, 0.1], [1, 0.2]]\n", "bounds must grow", 2),
        ("[sensitivity.a]\nbins = [[1, 7]]\n", "from 0 to 1", 2),
        ("[sensitivity.a]\nbins = [[1, 0.2, 3]]\n", "sensitivity.a.bins", 2),
        ("[sensitivity.a]\notherwise = true\n", "sensitivity.a.otherwise", 2),
        ("[sensitivity.a.contexts.night]\notherwize = 1\n", "Did you mean 'otherwise'?", 2),
        ('[columns.a]\nrole = "quasi"\n[sensitivity.a]\n', "its role is 'quasi'", 3),
        ("[misuse]\nx = 0.5\n", "misuse.x", 2),
        ("[misuse]\nlimt = 1\n", "Did you mean 'limit'?", 2),
    ],
)
def test_what_is_wrong_is_said_with_its_line(folder: Path, line: str, said: str, number: int) -> None:
    error = problem(folder, line)
    assert said in str(error)
    assert error.line == number
    assert f"policy.toml:{number}: " in str(error)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "is empty"),
        ("a;b;*\nc;*\n", "row 2 of tree.csv has 2 entries"),
        ("a;*\na;*\n", "more than once"),
        ("a;x;1\nb;x;2\n", "belongs to two values"),
    ],
)
def test_broken_hierarchy_files(folder: Path, rows: str, said: str) -> None:
    (folder / "tree.csv").write_text(rows, encoding="utf-8")
    error = problem(folder, '[columns.x]\nrole = "quasi"\nhierarchy = "tree.csv"\n')
    assert isinstance(error, HierarchyError)
    assert said in str(error)
    assert error.line == 3


def test_a_missing_policy_suggests_drafting_one(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="discreet policy init"):
        Policy.load(tmp_path / "none.toml")


def test_a_policy_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="UTF-8"):
        Policy.load(tmp_path / "p.toml")


def test_the_digest_covers_hierarchies_and_ignores_comments(folder: Path) -> None:
    path = folder / "policy.toml"
    path.write_text(WHOLE, encoding="utf-8")
    first = Policy.load(path).digest
    path.write_text("# a comment\n" + WHOLE, encoding="utf-8")
    assert Policy.load(path).digest == first
    (folder / "sub" / "diagnosis.csv").write_text("flu;infection;*\nburn;accident;*\n", encoding="utf-8")
    assert Policy.load(path).digest != first


def test_a_policy_is_frozen() -> None:
    policy: Any = Policy.from_dict({"columns": {"zip": {"role": "quasi"}}})
    with pytest.raises(AttributeError):
        policy.count = "n"
    with pytest.raises(TypeError):
        policy.roles["zip"] = "other"


@pytest.mark.parametrize("mark", [";", ",", "\t"])
def test_hierarchy_files_may_use_other_delimiters(folder: Path, mark: str) -> None:
    (folder / "tree.csv").write_text(f"a{mark}*\nb{mark}*\n", encoding="utf-8")
    policy = Policy.from_dict({"columns": {"x": {"role": "quasi", "hierarchy": "tree.csv"}}}, folder=folder)
    assert policy.rule("x").path("b") == ("b", "*")


GUESSES = {
    "columns": {
        "zip": {"role": "quasi?", "hierarchy": {"mask": 5}},
        "age": {"role": "quasi"},
        "illness": {"role": "sensitive?"},
        "note": {"role": "other?"},
        "name": {"role": "identifier?"},
        "page": {"role": "drop?"},
    }
}


def test_guesses_count_as_known_unless_they_are_never_published() -> None:
    policy = Policy.from_dict(GUESSES)
    assert policy.unconfirmed == ("zip", "illness", "note", "name", "page")
    assert policy.roles["illness"] == "sensitive"
    assert policy.quasi == ("zip", "age", "illness", "note")
    assert policy.sensitive == ()
    assert policy.unpublished == ("name", "page")
    assert policy.for_population().quasi == policy.quasi


def test_confirming_gives_the_policy_of_the_file_without_question_marks() -> None:
    policy = Policy.from_dict(GUESSES)
    columns = {name: {**section, "role": section["role"].rstrip("?")} for name, section in GUESSES["columns"].items()}
    whole = Policy.from_dict({"columns": columns})
    some = policy.confirm("illness", "age")
    assert some.unconfirmed == ("zip", "note", "name", "page")
    assert some.sensitive == ("illness",)
    assert len({policy.digest, some.digest, whole.digest}) == 3
    assert some.confirm(*some.unconfirmed) == whole
    assert policy.unconfirmed  # a policy never changes


def test_what_to_confirm_must_be_named() -> None:
    policy = Policy.from_dict(GUESSES)
    for names in ((), ("zpi",)):
        with pytest.raises(UsageError):
            policy.confirm(*names)


def test_a_policy_with_guesses_is_refused_where_something_leaves() -> None:
    policy = Policy.from_dict(GUESSES)
    with pytest.raises(PolicyError, match=r"zip \(quasi\?\), illness \(sensitive\?\), .*policy confirm POLICY --all"):
        policy.refuse_unconfirmed()
    policy.confirm(*policy.unconfirmed).refuse_unconfirmed()


def test_weights_may_belong_to_a_guess() -> None:
    content = {**GUESSES, "sensitivity": {"illness": {"values": {"flu": 0.1}}}}
    assert Policy.from_dict(content).sensitivity.keys() == {"illness"}
