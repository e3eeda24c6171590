"""Extensions in the attack file: each leads to what the Python functions give; a prior for each record."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet.attacker import Attack
from discreet.attacker.extensions import KEYS, Extensions, extension_rows
from discreet.attacker.purchases import External
from discreet.errors import UsageError
from tests.cli.test_attack_list import run

PLAIN = {"prior": 0.63, "gain": 8000, "access_cost": 100, "link_cost": 0, "exploit_cost": 10, "penalty": 10000}
MORE = {
    "shared": True,
    "true_positive": 0.9,
    "false_positive": 0.1,
    "belief": [0, 0.5, 0.5],
    "uncertain": {"gain": ["uniform", 5000, 11000], "prior": ["normal", 0.6, 0.01]},
    "lists": {"voters": {"price": 100, "members": [0, 1, 2]}, "phones": {"price": 20, "members": [3]}},
}


def test_a_group_is_planned_as_the_functions_plan_it() -> None:
    parameters, more = Extensions.split({**PLAIN, **MORE})
    attack = Attack.from_dict(parameters)
    found = more.of_group(attack, 5)
    asked = attack.unconfirmed([5], true_positive=0.9, false_positive=0.1)
    assert found["unconfirmed"]["mistaken"] == asked.mistaken[0]
    assert found["belief"]["risk"] == attack.unknown(belief=[[0, 0.5, 0.5]], sizes=[5]).reidentification[0]
    lists = {"voters": External(100, [0, 1, 2]), "phones": External(20, [3])}
    assert found["lists"]["risk"] == attack.several(5, lists).reidentification
    assert found["uncertain"]["risk"] == pytest.approx(0.6, abs=0.01), "attacked whatever is drawn"
    assert next(name for name, _ in extension_rows(found)) == "the paper's model"
    assert set(Extensions.split(PLAIN)[1].of_group(attack, 5)) == {"paper"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"shared": 1}, {"uncertain": {"gain": ["cauchy", 0, 1]}}, {"uncertain": {"prices": ["uniform", 0, 1]}},
        {"uncertain": 3}, {"lists": {"voters": {"price": 1}}}, {"belief": "half"}, {"prior_column": 3},
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(wrong: dict[str, object]) -> None:
    assert set(wrong) <= set(KEYS)
    with pytest.raises(UsageError):
        Extensions.split({**PLAIN, **wrong})


def test_a_table_with_one_purchase_for_all_and_a_prior_for_each_record(tmp_path: Path) -> None:
    rows = [("1", "0.2")] * 3 + [("1", "1")] + [("2", "0.5")] * 60
    (tmp_path / "people.csv").write_text("zip,p\n" + "".join(f"{z},{p}\n" for z, p in rows), encoding="utf-8")
    (tmp_path / "p.toml").write_text('[columns.zip]\nrole = "quasi"\n[columns.p]\nrole = "other"\n', encoding="utf-8")
    lines = [f"{name} = {value}" for name, value in PLAIN.items()]
    (tmp_path / "a.toml").write_text(
        "\n".join(["[attack]", *lines, 'prior_column = "p"', "shared = true"]), encoding="utf-8"
    )
    done = run(tmp_path, "attack", "people.csv", "--policy", "p.toml", "--attack", "a.toml", "--json")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)["extensions"]
    attack = Attack.from_dict(PLAIN)
    attack_at = {prior: Attack.from_dict({**PLAIN, "prior": prior}) for prior in (0.2, 1.0, 0.5)}
    alone = [attack_at[float(p)].known([4 if z == "1" else 60]).reidentification[0] for z, p in rows]
    assert found["prior_column"]["reidentified"] == pytest.approx(sum(alone))
    assert found["prior_column"]["least"] == 0.2
    assert found["shared"]["reidentified"] == attack.shared(np.array([4, 60]), np.array([4, 60])).expected_reidentified
    (tmp_path / "people.csv").write_text("zip,p\n1,0\n1,x\n", encoding="utf-8")
    refused = run(tmp_path, "attack", "people.csv", "--policy", "p.toml", "--attack", "a.toml")
    assert refused.returncode == 3
    assert "for 2 people" in refused.stderr
