"""The section [gateway] of a policy: strict, with the line of what is wrong, and with limits that fit or do not."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli.main import cli
from discreet.errors import PolicyError
from discreet.gateway import Who
from discreet.gateway.enforcement.exposure_limits import ExposureLimits
from discreet.policy import Policy
from discreet.policy.gateway_section import AggregatesPolicy

BASE = '[misuse]\nlimit = 2\n[gateway.tables."public.patients"]\nkey = ["id"]\n'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[gateway]\nmode = "watch"\n', 2, "one of: shadow, enforce"),
        ('[gateway.tables."t"]\nquazi = []\n', 2, "Did you mean 'quasi'?"),
        ("[[gateway.limits]]\nlimit = 1\n\n[[gateway.limits]]\nlimits = 2\n", 5, "Did you mean 'limit'?"),
        ('[[gateway.limits]]\naddresses = ["here"]\n', 2, "10.0.0.0/8"),
        ('[[gateway.limits]]\nhours = "8-18"\n', 2, "hours"),
        ('[gateway.tables."t"]\nquasi = ["a"]\nsensitive = ["a"]\n', 3, "choose one"),
        ("[gateway]\nsmallest_group = 1\n", 2, "smallest_group"),
        ("[gateway.aggregates]\nnoise = 0\n", 2, "greater than 0"),
        ("[gateway.aggregates]\naudit = 1.5\n", 2, "less than 1"),
        ("[gateway.aggregates.columns.income]\nbounds = [5, 5]\n", 2, "must grow, as in [0, 150000]"),
        ("[gateway.aggregates.columns.income]\nbound = [0, 5]\n", 2, "Did you mean 'bounds'?"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text, file="policy.toml")
    assert caught.value.line == line
    assert said in str(caught.value)


def test_roles_come_from_columns_unless_the_table_says_otherwise() -> None:
    columns = '[columns.zip]\nrole = "quasi"\n[columns.dx]\nrole = "sensitive"\n[columns.name]\nrole = "identifier"\n'
    policy = Policy.parse(columns + '[gateway.tables."t"]\nkey = ["id"]\n[gateway.tables."u"]\nquasi = []\n')
    assert policy.gateway is not None
    table, other = policy.gateway.tables["t"], policy.gateway.tables["u"]
    assert (table.quasi, table.sensitive, table.identifiers, table.entity) == (("zip",), ("dx",), ("name",), "t")
    assert other.quasi == ()
    assert other.by_default == {"dx", "name"}


def aggregates(text: str = "") -> AggregatesPolicy:
    policy = Policy.parse(text or "[gateway]\n")
    assert policy.gateway is not None
    return policy.gateway.aggregates


def test_statistics_have_safe_settings_where_the_policy_says_nothing() -> None:
    mine = aggregates()
    assert (mine.noise, mine.audit, mine.answers, mine.smallest, mine.margin) == (2.0, 0.2, 200, 7, 3)
    assert (mine.bounds("clinic.patients.income"), mine.step("clinic.patients.income")) == (None, None)
    assert mine == AggregatesPolicy()


def test_the_smallest_group_of_before_still_holds() -> None:
    assert aggregates("[gateway]\nsmallest_group = 15\n").smallest == 15
    assert aggregates("[gateway]\nsmallest_group = 15\n[gateway.aggregates]\nsmallest = 9\n").smallest == 9


def test_keys_of_earlier_versions_are_read_and_named(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[gateway]\nsmallest_group = 12\nunnamed_rows = "alone"\n', encoding="utf-8")
    done = CliRunner().invoke(cli, ["policy", "check", str(file)])
    assert done.exit_code == 0
    assert "Note: gateway.smallest_group is aggregates.smallest by now" in done.output
    assert "Note: gateway.unnamed_rows has no effect by now" in done.output
    assert "refresh" not in done.output


def test_bounds_are_looked_up_like_weights() -> None:
    text = """[gateway.aggregates.columns.income]
bounds = [0, 10]
step = 5
[gateway.aggregates.columns."clinic.patients.income"]
bounds = [0, 20]
"""
    mine = aggregates(text)
    assert (mine.bounds("clinic.patients.income"), mine.step("clinic.patients.income")) == ((0, 20), None)
    assert (mine.bounds("clinic.staff.income"), mine.step("clinic.staff.income")) == ((0, 10), 5)


def test_members_of_a_project_share_an_account() -> None:
    mine = aggregates('[gateway.aggregates.projects]\nheart = ["ann", "nurses"]\nlung = ["ann"]\n')
    assert [mine.account("ann"), mine.account("ben", {"nurses"}), mine.account("ben")] == [
        "project:heart",
        "project:heart",
        "user:ben",
    ]


def test_somebody_must_have_a_limit() -> None:
    with pytest.raises(PolicyError, match="no limit holds for everybody"):
        ExposureLimits.of(Policy.parse('[gateway.tables."t"]\n[[gateway.limits]]\nusers = ["ann"]\nlimit = 1\n'))
    assert ExposureLimits.of(Policy.parse('[gateway.tables."t"]\n[[gateway.limits]]\nlimit = 1\n')).otherwise is None


def who(**more: str) -> Who:
    told = {"user": "ann", "database": "clinic", "application": "psql", "address": "10.1.2.3", **more}
    return Who(told["user"], told["database"], told["application"], told["address"], encrypted=True)


RULES = """
[[gateway.limits]]
hours = "20:00-06:00"
limit = 0.1
[[gateway.limits]]
users = ["ann"]
applications = ["psql"]
addresses = ["10.0.0.0/8"]
limit = 5.0
action = "mask"
[[gateway.limits]]
roles = ["physicians"]
limit = 10.0
"""


@pytest.mark.parametrize(
    ("somebody", "roles", "hour", "expected"),
    [
        (who(), set(), 12, (5.0, "mask")),
        (who(), set(), 23, (0.1, "deny")),
        (who(), set(), 3, (0.1, "deny")),
        (who(address="11.0.0.1"), set(), 12, (2.0, "deny")),
        (who(address=""), set(), 12, (2.0, "deny")),
        (who(application="x"), {"physicians"}, 12, (10.0, "deny")),
        (who(user="eve"), {"clerks"}, 12, (2.0, "deny")),
    ],
)
def test_the_first_limit_that_fits_holds(
    somebody: Who, roles: set[str], hour: int, expected: tuple[float, str]
) -> None:
    policy = Policy.parse(BASE + RULES)
    assert policy.gateway is not None
    limits = ExposureLimits(policy.gateway, 2.0, clock=lambda: datetime.combine(datetime(2026, 1, 1), time(hour)))
    found = limits.now(somebody, frozenset(roles))
    assert (found.value, found.action) == expected
