"""What the gateway says it would make of a statement."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli.main import cli
from discreet.errors import Refused
from discreet.gateway.explanation import explained
from tests.gateway.governed import POLICY, policy

ANSWERED = {
    "SELECT sex, count(*) FROM patients GROUP BY sex": "Exact answer",
    "SELECT zip, avg(income) FROM patients GROUP BY zip": "Statistic about clinic.patients.income",
    "SELECT diagnosis, count(*) FROM clinic.patients GROUP BY 1": "Statistic about clinic.patients.diagnosis",
    "SELECT name, diagnosis FROM patients WHERE id = 7": "charged with clinic.patients.diagnosis, at most 1",
    "SELECT id FROM patients WHERE diagnosis = 'flu'": "also who is not shown",
    "SELECT p.zip, avg(v.n) FROM patients p JOIN (SELECT patient, count(*) n FROM visits GROUP BY 1) v ON v.patient = p.id GROUP BY 1": "Exact",
    "SELECT 1": "Names no governed table",
    "UPDATE patients SET zip = 'x'": "Passes to the server",
}
REFUSED = {
    "SELECT max(income) FROM patients": "max()",
    "SELECT avg(income) FROM patients WHERE id <> 7": "key `id`",
    "SELECT count(*) FROM patients WHERE income = 70000007": "equation",
    "SELECT count(*) FROM patients WHERE income > 70000007": "grid",
    "SELECT income, count(*) FROM patients GROUP BY income": "group by the number",
    "SELECT * FROM patients FOR UPDATE": "locks",
    "SELECT nosuch(diagnosis) FROM patients": "nosuch()",
    "SELECT avg(income) FROM (SELECT * FROM patients ORDER BY id LIMIT 10) t": "",
    "SELECT a.diagnosis, count(*) FROM patients a JOIN patients b ON a.diagnosis = b.diagnosis GROUP BY 1": "ON of a statistic",
    "SELECT v.reason FROM patients p LEFT JOIN visits v ON v.patient = p.id AND v.reason = 'x'": "outer join",
    "SELECT id, diagnosis FROM patients EXCEPT SELECT id, diagnosis FROM patients WHERE id = 7": "EXCEPT",
}


@pytest.mark.parametrize("statement", list(ANSWERED))
def test_what_is_answered_and_what_it_costs(statement: str) -> None:
    found = explained(statement, policy())
    assert not found.refused
    assert ANSWERED[statement] in " ".join(found.lines)


@pytest.mark.parametrize("statement", [one for one, said in REFUSED.items() if said])
def test_what_is_refused_and_a_form_that_works(statement: str) -> None:
    found = explained(statement, policy())
    assert REFUSED[statement] in found.refused


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY.format(limit=2, mode="enforce", action="deny", days=""), encoding="utf-8")
    fine = CliRunner().invoke(cli, ["gateway", "explain", "SELECT avg(income) FROM patients", "--policy", str(file)])
    assert (fine.exit_code, "Statistic about" in fine.output) == (0, True)
    refused = CliRunner().invoke(cli, ["gateway", "explain", "SELECT max(income) FROM patients", "--policy", str(file)])
    assert isinstance(refused.exception, Refused)
    assert refused.exception.exit_code == 5
