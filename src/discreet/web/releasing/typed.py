"""What people type into the forms of the desk."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from discreet.releases.preconditions import AGREEMENT
from discreet.web.datasets.store import Dataset
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem
from discreet.web.releasing.content import LONGEST_AGREEMENT, NewPlan

LAWS = (
    ("0.2/0.5", "0.2 and 0.5, the default: few claims name a leaker"),
    ("0.5", "0.5 for all: simplest"),
    ("nuida:2", "against two who collude"),
    ("nuida:3", "against three who collude"),
)
START: dict[str, str] = {
    "name": "",
    "dataset": "",
    "population": "",
    "recipients": "",
    "k": "5",
    "suppression": "10",
    "law": "0.2/0.5",
    "format": "parquet",
    "population_source": "",
    "population_licence": "",
    "counts_only": "",
    "sign_off": "",
    "agreement": AGREEMENT,
    "force": "",
}
"""What the form begins with."""
LONG = {"recipients": 40_000, "agreement": LONGEST_AGREEMENT}


def names_in(text: str) -> list[str]:
    """One name to a line, or several with commas between.

    >>> names_in("north\\n south, west \\n\\n")
    ['north', 'south', 'west']
    """
    parts = [part.strip() for line in text.splitlines() for part in line.split(",")]
    return [part for part in parts if part]


def typed_in(form: Form) -> dict[str, str]:
    """Every field as it was sent, to be shown again."""
    return {name: form.verbatim(name, most=LONG.get(name, 600), lines=name in LONG) for name in START}


def wanted_in(form: Form) -> NewPlan:
    """The plan that a form describes, as the API would be told."""
    typed = {name: value.strip() for name, value in typed_in(form).items()}
    given: dict[str, Any] = {**typed, "recipients": names_in(typed["recipients"])}
    for name, words in (("dataset", "the data"), ("population", "the population")):
        given[name] = form.whole(name, least=0, most=10**17) if typed[name] else _missing(words)
    given["k"] = form.whole("k", least=2, most=10**6)
    given["suppression"] = _percent(typed["suppression"])
    given["counts_only"], given["force"] = typed["counts_only"] == "yes", typed["force"] == "yes"
    given["agreement"] = typed["agreement"].replace("\r\n", "\n")
    try:
        return NewPlan.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0]).replace("_", " ") if first["loc"] else "form"
        raise Problem(422, f"{field}: {first['msg']}.", remedy="Correct it and send the form again.") from None


def shown_of(content: dict[str, Any]) -> dict[str, str]:
    """What was planned, as the form shows it."""
    shown = {name: str(content.get(name, "")) for name in START}
    shown["name"], shown["recipients"] = content["release"], "\n".join(content["recipients"])
    if "suppression" in content:
        shown["suppression"] = f"{100 * content['suppression']:g}"
    for name in ("counts_only", "force"):
        shown[name] = "yes" if content.get(name) else ""
    return shown


def offered(everything: list[Dataset]) -> list[tuple[str, str]]:
    """Data sets to choose from."""
    return [("", "choose one"), *((str(one.id), one.name) for one in everything)]


def renamed_in(text: str) -> dict[str, str]:
    """Columns that are called otherwise: theirs = ours, one pair to a line.

    >>> renamed_in("plz = zip\\ngeschlecht=sex")
    {'plz': 'zip', 'geschlecht': 'sex'}
    """
    pairs = {}
    for line in filter(str.strip, text.splitlines()):
        theirs, sign, ours = line.partition("=")
        if not sign or not theirs.strip() or not ours.strip():
            raise Problem(
                422, "A column that is called otherwise is written as: theirs = ours.", remedy="One to a line."
            )
        pairs[theirs.strip()] = ours.strip()
    return pairs


def _percent(text: str) -> float:
    try:
        return float(text.replace(",", ".")) / 100
    except ValueError:
        raise Problem(422, "left out: that is not a number.", remedy="Write it as 5 or 2.5, in per cent.") from None


def _missing(words: str) -> int:
    raise Problem(422, f"Nobody has chosen {words} yet.", remedy="Choose a data set from the list.")
