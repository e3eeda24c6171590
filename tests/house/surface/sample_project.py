"""A sample project from the first look at a table to the report on all that was disclosed, by commands, in one folder.

What commands print as JSON, the files they write, and what `to_dict()` of public results gives on the way are part of the surface.
"""

from __future__ import annotations

import inspect
import json
import shlex
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from discreet.anonymity import frontier, stackelberg
from discreet.attacker import Attack
from discreet.kernel import AnyValue, Classes, Rule, Widths
from discreet.ledger import Ledger
from discreet.people import write_extracts
from discreet.releases import Linked, plan_bait
from tests.house.surface.commands import root
from tests.house.surface.names import resolved
from tests.house.surface.shapes import Shape, merged, shape
from tests.releases.world import known_keys, town
from tests.web import gateway_data

TOWN_POLICY = """
[columns]
name = { role = "identifier" }
zip = { role = "quasi", hierarchy = { mask = 3 } }
year = { role = "quasi", hierarchy = "year.csv" }
sex = { role = "quasi", hierarchy = "sex.csv" }
illness = { role = "sensitive" }
amount = { role = "other" }
day = { role = "other" }
note = { role = "other" }
[population]
count = "people"
[economics]
adversary_gain = 10.0
adversary_cost = 1.0
publisher_benefit = 5.0
publisher_loss = 20.0
[sensitivity.illness]
values = { flu = 0.2, asthma = 0.5 }
otherwise = 1.0
[misuse]
limit = 1.5
"""
"""Years and sexes cannot be made coarser, so that releases are made of the ZIP codes as they are."""
SMALL = {
    "few.csv": "sex,zip\nF,10\nF,10\nM,11\n",
    "few.toml": 'columns = { sex = { role = "quasi" }, zip = { role = "quasi" } }\n',
    "guesses.toml": 'columns = { sex = { role = "quasi?" }, zip = { role = "quasi?" } }\n',
    "codes.csv": "zip\n" + 6 * "101\n" + 7 * "102\n" + "201\n",
    "codes.toml": 'columns.zip = { role = "quasi", hierarchy = { mask = 3 } }\npopulation.count = "people"\n',
    "census.csv": "zip,people\n101,60\n102,40\n201,9\n301,4\n302,8\n",
    "ranks.csv": "expert,table,rank,seconds\nann,published.csv,1,9\nann,names.csv,2,4\nann,few.csv,3,2\n",
    "names.csv": "zip\n001\n002\n",
    "sample.csv": "zip,home,w\n101,1,2.5\n101,1,7\n102,,3\n",
    "sample.toml": 'data = { weight = "w", household = "home" }\ncolumns = { zip = { role = "quasi" }, home.role = "drop" }\n',
}
"""Small tables and policies for cases that the town does not have."""
TOWN = "town.parquet --policy policy.toml"
RELEASE = f"{TOWN} --population people.csv --k 3 --suppression 0.9"
GATES = "--population-source a --population-licence b --counts-only --sign-off c"
COMMANDS: tuple[tuple[str, str], ...] = (
    ("doctor", ""),
    ("demo-data", "--people 1000 --out demo"),
    ("demo-data --linkage", "--people 1000 --out demo-linkage"),
    ("profile", "town.parquet"),
    ("policy init", "town.parquet --out draft.toml"),
    ("policy check", "policy.toml --data town.parquet"),
    ("policy confirm", "guesses.toml sex"),
    ("policy check", "few.toml --data town.parquet"),
    ("hierarchy init", "town.parquet zip --all-values"),
    ("hierarchy show", "policy.toml zip --data town.parquet"),
    ("hierarchy export", "policy.toml zip --data town.parquet"),
    ("assess", f"{TOWN} --population people.csv"),
    ("assess", "sample.csv --policy sample.toml --records records.csv"),
    ("attack init", "--out attack.toml"),
    ("attack table", f"{TOWN} --external people.csv --attack attack.toml --loss year --classes risks.csv"),
    ("attack thresholds", "--attack attack.toml"),
    ("attack group", "--size 5 --set true_positive=0.9"),
    ("attack thresholds", "--set max_penalties=3"),
    ("attack sweep", "--vary penalty=1000:2000:2"),
    ("attack sweep", f"{TOWN} --external people.csv --vary penalty=1000:2000:2"),
    ("attack case-study", "--data few.csv --policy few.toml --people 1000"),
    ("reproduce", "mscore --quick"),
    ("anonymise", f"{TOWN} --k 3 --suppression 0.9 --target illness --out published.csv"),
    ("compare", f"{TOWN} --k 3,5 --suppression 0.9"),
    ("release plan", RELEASE),
    ("release make", f"{RELEASE} {GATES} --name spring --recipient north --recipient south --out copies --format csv"),
    ("release add-recipient", f"spring {TOWN} --recipient west --out copies"),
    ("release retire", "spring --recipient west"),
    ("release send", "spring --recipient north --from copies --to outbox"),
    ("release recall", "spring --recipient north --by 2031-12-31 --why end"),
    ("release deleted", "spring --recipient south --proof codes.csv"),
    ("release due", "spring"),
    ("release list", ""),
    ("release show", "spring"),
    ("release feasibility", "codes.csv --policy codes.toml --population census.csv --grid"),
    ("release feasibility", "codes.csv --policy codes.toml --population census.csv --k 5 --samples 2 --fraction 0.4"),
    ("release attack", "codes.csv --policy codes.toml --population census.csv --recipients 1 --decoys 1 --mode bait"),
    ("release fingerprints", f"{TOWN} --recipients 2 --k 1 --out fingerprints"),
    ("release fingerprints", f"{TOWN} --recipients 2 --k 1 --leaked fingerprints/copy-1.csv"),
    ("trace leak", "copies/north/data.csv --release spring"),
    ("trace list", "--release spring"),
    ("trace claims", "copies/north/data.csv --release spring"),
    ("link init", "link/first.csv link/second.csv --spec link/link.toml --out project"),
    ("link pairs", "project --rule surname --review 6 --labels link/truth.csv"),
    ("link assign", "project --worker ann --worker ben --overlap 2 --risk 0.9 --characters 0.9 --project-risk 0.9 --project-characters 0.9"),
    ("link review", "project --worker ann"),
    ("link review", "project --worker ben"),
    ("link assign --adjudicator", "eve project"),
    ("link assign --withdraw", "eve project"),
    ("link status", "project --budget"),
    ("link status (all projects)", ""),
    ("link evaluate", "project --truth link/truth.csv"),
    ("link labels", "project --out labels.csv"),
    ("link add", "project link/second.csv --like second"),
    ("link encode", "link/first.csv --spec link/link.toml --secret-file secret --new-secret --out clk.csv"),
    ("link export", "project --out linked --unfinished --format csv"),
    ("misuse generate", "--days 5 --out log"),
    ("misuse elicit", f"{TOWN} --out log/ann.json"),
    ("misuse combine", "log/ann.json log/ben.json --out sensitivity.toml"),
    ("misuse compare", "log/ann.json log/ben.json --out study"),
    ("misuse anomalies", "log/log.jsonl"),
    ("misuse incidents", "log/log.jsonl"),
    ("misuse score", "published.csv --source town.parquet --policy policy.toml"),
    ("misuse reduce", "published.csv --source town.parquet --policy policy.toml --limit 1 --out less.csv"),
    ("misuse evaluate", "ranks.csv --source town.parquet --policy policy.toml"),
    ("misuse fit", f"{TOWN} --value amount --column illness --out learnt.toml"),
    ("misuse score", "names.csv --source town.parquet --policy policy.toml --request \"SELECT zip FROM town WHERE illness = 'flu'\""),
    ("ledger show", "--last 1000"),
    ("ledger show --budgets", ""),
    ("ledger head", "--out head.json"),
    ("ledger verify", "--head head.json"),
    ("ledger export", "--out ledger.jsonl"),
    ("backup", "kept --store store.db --data no-data"),
    ("restore", "kept --verify"),
    ("report init", f"{TOWN} --population people.csv --attack attack.toml --published published.csv --store store.db --out project.toml"),
    ("report project", "project.toml --head head.json"),
)  # fmt: skip
"""What is run: the name under which the snapshot lists it, which begins with the verbs, and the further words."""
KEYS_TYPED = {"ann": "a 6 6 6 6 6 6 6 6", "ben": "1 6 6 6 6 6 6 6 6"}
"""What reviewers type: one opens a cell, and they disagree about the first pair."""
NOT_COMPARED = ("sex", "zip", "national_id")
"""Columns that records are not linked by: fewer comparisons take less time."""
WITHOUT_JSON = {"attack init", "ledger export", "report init"}
"""Commands whose result is a file only."""
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
"""Data and messages are separated; click does so by default since 8.2."""


@dataclass
class SampleProject:
    """The folder of the project, and the shapes of all results."""

    folder: Path
    inputs: frozenset[Path] = frozenset()
    """Files that were there before the first command."""
    printed: dict[str, Shape] = field(default_factory=dict)
    """The JSON of commands."""
    results: dict[str, Shape] = field(default_factory=dict)
    """What `to_dict()` of public classes gave."""


def sample_project(folder: Path, results: Mapping[type, str]) -> SampleProject:
    """Run all commands; `results` are the classes whose `to_dict()` counts, with their public paths."""
    project = SampleProject(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("DISCREET_STORE", str(folder / "store.db"))
        patch.setenv("DISCREET_KEYS", str(folder / "store.keys"))
        _record_results(patch, results, project.results)
        _write_inputs(folder)
        project.inputs = frozenset(folder.rglob("*"))
        for name, words in COMMANDS:
            if name == "ledger show":
                _record_gateway_events(folder)
            output = _run(name, words)
            if name not in WITHOUT_JSON:
                project.printed[name] = merged([project.printed.get(name, {}), shape(json.loads(output))])
        _compute_other_results(folder)
        patch.delenv("DISCREET_KEYS")
        Ledger.open(folder / "second.db").close()  # makes a file of keys beside it
    return project


def _write_inputs(folder: Path) -> None:
    known_keys(folder / "store.keys")
    population = town(folder, zips=20).population
    counts = [
        f"{','.join(map(str, cell))},{size}" for cell, size in zip(population.tuples(), population.sizes, strict=True)
    ]
    texts = {
        "policy.toml": TOWN_POLICY,
        "people.csv": "\n".join(["zip,year,sex,people", *counts, ""]),
        "year.csv": "".join(f"{year}\n" for year in range(1950, 1964)),
        "sex.csv": "F\nM\n",
        **SMALL,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    spec = write_extracts(folder / "link", people=100, seed=1).link
    lines = [line for line in spec.read_text(encoding="utf-8").splitlines() if not line.startswith(NOT_COMPARED)]
    spec.write_text("\n".join(lines), encoding="utf-8")


def _record_gateway_events(folder: Path) -> None:
    """What a gateway writes: a result for a database user, and a refusal."""
    with Ledger.open(folder / "store.db") as ledger:
        gateway_data.started(ledger)
        gateway_data.answered(ledger, "eve", "0", "1.5")
        gateway_data.refused(ledger, "eve", "1.5", "2.31")


def _compute_other_results(folder: Path) -> None:
    """Results that no command prints."""
    rows = [("F", "30"), ("F", "31"), ("M", "30"), ("M", "31"), ("M", "45")]
    rules: dict[str, Rule] = {"sex": AnyValue(), "age": Widths((10,))}
    people = Classes.of(["sex", "age"], rows, [30, 40, 20, 60, 1], rules=rules)
    population = Classes.of(["sex", "age"], [*rows, ("F", "45")], [300, 400, 200, 600, 10, 9], rules=rules)
    attack = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=0)
    stackelberg(people, attack, worth=50_000, harm=5_000, penalty_cost=0.1).best.to_dict()
    frontier(people, ks=(2,))[0].to_dict()
    linked = Linked.at_node(people, population, {"sex": 0, "age": 0}, k=5)
    plan_bait(linked, ["north"], decoys=1, rng=np.random.default_rng(1)).to_dict()
    with Ledger.open(folder / "store.db") as ledger:
        project = resolved("discreet.linkage.project.find_project")(ledger.store, "project")
        number = resolved("discreet.linkage.review.decisions.last_decided")(ledger.store, project, "ann")
        resolved("discreet.linkage.review.reveal.view")(ledger, project, "ann", number).to_dict()


def _run(name: str, words: str) -> str:
    """What a command prints; an error of the command is an error here."""
    verbs = name.partition(" (")[0]
    arguments = [*shlex.split(f"{verbs} {words}"), *([] if name in WITHOUT_JSON else ["--json"])]
    typed = next((keys for worker, keys in KEYS_TYPED.items() if name == "link review" and worker in arguments), None)
    result = CliRunner(**APART).invoke(root(), arguments, input=typed, standalone_mode=False)  # type: ignore[arg-type]
    if result.exception is not None:
        trace = "".join(traceback.format_exception(result.exception)[-3:])
        pytest.fail(f"discreet {' '.join(arguments)}\n{result.stderr}\n{trace}", pytrace=False)
    return result.stdout if typed is None else result.stdout[result.stdout.index("{") :]


def _record_results(patch: pytest.MonkeyPatch, results: Mapping[type, str], shapes: dict[str, Shape]) -> None:
    """Record what `to_dict()` gives, wherever it is called."""

    def recording(to_dict: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(to_dict)
        def recorded(self: Any, *arguments: Any, **options: Any) -> Any:
            content = to_dict(self, *arguments, **options)
            if path := results.get(type(self)):
                shapes[path] = merged([shapes.get(path, {}), shape(content)])
            return content

        return recorded

    for cls in {base for result in results for base in result.__mro__ if "to_dict" in vars(base)}:
        patch.setattr(cls, "to_dict", recording(vars(cls)["to_dict"]))
