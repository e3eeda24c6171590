"""Measurement of a project: its project file, risk of data, publication and attacks."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.attacker import Attack, Attacked
from discreet.attacker.extensions import Extensions
from discreet.attacker.parameters import read_attack
from discreet.errors import PolicyError, UsageError
from discreet.kernel import Classes
from discreet.kernel.classes import Column
from discreet.policy import Policy
from discreet.policy.diagnostics import shape_error, syntax_error
from discreet.risk import Assessment, assess, singling_out
from discreet.risk.table_profile import SinglingOut
from discreet.sources import Table, read
from discreet.wording import reason

NAME = "project.toml"
DESCRIBED = "docs/reference/project-file.md describes every key."


class ProjectSection(BaseModel):
    """The keys of the file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    title: str = Field(min_length=1, max_length=200, description="What the report is called.")
    data: str = Field(min_length=1, description="The table that is to be shared.")
    policy: str = Field(min_length=1, description="The policy file.")
    population: str | int | None = Field(
        default=None, description="The people an adversary may know of: a table, or just their number."
    )
    attack: str | None = Field(default=None, description="What an adversary gains, pays and risks.")
    published: str | None = Field(default=None, description="The anonymised table, as it is handed out.")
    store: str | None = Field(default=None, description="The store whose ledger has the disclosures.")
    releases: list[str] | None = Field(default=None, description="Releases to report on; all when absent.")
    linkage: list[str] | None = Field(default=None, description="Linkage projects to report on; all when absent.")
    databases: list[str] | None = Field(
        default=None, description="Databases behind a gateway to report on; all when absent."
    )


@dataclass(frozen=True)
class ProjectFile:
    """A data-sharing project; places are ready to be opened.

    >>> ProjectFile.parse('title = "Spring"\\ndata = "a.csv"\\npolicy = "p.toml"', folder="in").data
    'in/a.csv'
    """

    title: str
    data: str
    policy: str
    population: str | int | None = None
    attack: str | None = None
    published: str | None = None
    store: str | None = None
    releases: tuple[str, ...] | None = None
    linkage: tuple[str, ...] | None = None
    databases: tuple[str, ...] | None = None
    file: str = ""

    @classmethod
    def load(cls, path: str | Path) -> ProjectFile:
        """Read the file, or `project.toml` in a folder; relative paths inside it are relative to it."""
        path = Path(path)
        path = path / NAME if path.is_dir() else path
        try:
            source = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise PolicyError(
                "There is no such project file.",
                file=str(path),
                remedy="Draft one with: discreet report init DATA --policy FILE --out project.toml",
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise PolicyError(
                f"The project file cannot be read ({reason(error)}).",
                file=str(path),
                remedy="Save it as UTF-8 text.",
            ) from None
        return cls.parse(source, folder=path.parent, file=str(path))

    @classmethod
    def parse(cls, source: str, *, folder: str | Path = ".", file: str = NAME) -> ProjectFile:
        """The same from the text of a file; `file` is what errors call it."""
        try:
            content = tomllib.loads(source)
        except tomllib.TOMLDecodeError as error:
            raise syntax_error(error, file) from None
        try:
            section = ProjectSection.model_validate(content)
        except ValidationError as error:
            keys = list(ProjectSection.model_fields)
            raise shape_error(error, file=file, source=source, known_keys=lambda _: keys, described=DESCRIBED) from None
        given = section.model_dump()
        for name, value in given.items():
            if isinstance(value, list):
                given[name] = tuple(value)
            elif isinstance(value, str) and name != "title" and "://" not in value:
                # A path seen from the folder of the file, unless it is a number of people.
                digits = value.replace(",", "").replace("_", "")
                given[name] = int(digits) if digits.isdigit() else str(Path(folder) / value)
        return cls(**given, file=file)


OPTIONAL: dict[str, tuple[str, Any]] = {
    "population": ("the people an adversary may know of: a table, or just their number", "population.parquet"),
    "attack": ("what an adversary gains, pays and risks (discreet attack init --out attack.toml)", "attack.toml"),
    "published": ("the anonymised table as it is handed out (discreet anonymise ... --out safe.csv)", "safe.csv"),
    "store": ("the store whose ledger has the disclosures", "store.db"),
    "releases": ("releases to report on; all of the store without this line", ["spring"]),
    "linkage": ("linkage projects to report on; all of the store without this line", ["registry"]),
    "databases": ("databases behind a gateway to report on; all of the store without this line", ["hospital"]),
}
"""What each key that may be left out means, with an example."""


def draft_project(*, title: str, data: str, policy: str, **given: str | int | None) -> str:
    """The text of a project file with a comment on every key; what is not given is commented out.

    >>> print(draft_project(title="Spring", data="a.csv", policy="policy.toml").splitlines()[1])
    title = "Spring"
    """

    def line(key: str, value: Any) -> str:
        return f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007F")

    lines = ["# A data-sharing project: discreet report FOLDER tells all of it. Paths are relative to this file."]
    lines += [line("title", title), line("data", data), line("policy", policy)]
    for key, (meaning, example) in OPTIONAL.items():
        value = given.get(key)
        lines += ["", f"# {meaning}", f"# {line(key, example)}" if value is None else line(key, value)]
    return "\n".join(lines) + "\n"


# A published table beside the data that it came from, with the level of each column in its hierarchy.
@dataclass(frozen=True, eq=False)
class Published:
    """A table that was generalised, seen through the policy of the data."""

    name: str
    policy: Policy
    counted: Classes
    levels: dict[str, int] | None
    """The level of each column; None where values were recoded class by class."""
    dropped: tuple[str, ...]
    """Quasi-identifiers of the data that it does not have."""
    identifiers: tuple[str, ...]
    """Identifiers that it still has."""

    @property
    def records(self) -> int:
        return self.counted.records

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """The people counted, at the levels of the data's hierarchies where these are known."""
        return self.counted if by is None else self.counted.project(by)


def published_policy(policy: Policy, columns: Sequence[str]) -> Policy:
    """The policy for a generalised table: roles of its columns, labels as they are."""
    roles = {name: role for name, role in policy.roles.items() if name in columns}
    rules = {name: rule for name, rule in policy.rules.items() if roles.get(name) == "sensitive"}
    return replace(
        policy,
        roles=MappingProxyType(roles),
        unconfirmed=tuple(name for name in policy.unconfirmed if name in roles),
        rules=MappingProxyType(rules),
        delimiter=None,
        encoding=None,
        count=policy.count if policy.count in columns else None,
        weight=policy.weight if policy.weight in columns else None,
        household=policy.household if policy.household in columns else None,
        person=None if policy.several_rows else policy.person,
    )


def match_levels(table: Table, data: Classes, policy: Policy) -> Published:
    """The published table with the hierarchies of the data; `table` was read with `published_policy`."""
    present = set(table.columns)
    names = tuple(name for name in policy.quasi if name in present)
    counted = table.classes(names, sensitive=tuple(name for name in policy.sensitive if name in present))
    levels: dict[str, int] = {}
    columns, codes = [], []
    for column, mine in zip(counted.columns, counted.codes, strict=True):
        hierarchy = data.columns[data.names.index(column.name)].hierarchy
        labels = set(column.labels)
        fitting = [level for level in range(hierarchy.height) if labels <= hierarchy.index[level].keys()]
        if not fitting:
            # No level has all labels: values were recoded class by class, or elsewhere.
            break
        levels[column.name] = fitting[0]
        index = hierarchy.index[fitting[0]]
        known = np.array([index[label] for label in column.labels], dtype=np.int64)
        columns.append(Column(column.name, hierarchy, fitting[0]))
        codes.append(known[mine])
    everywhere = len(levels) == len(counted.columns)
    return Published(
        name=table.name,
        policy=policy,
        counted=replace(counted, columns=tuple(columns), codes=tuple(codes)) if everywhere else counted,
        levels=levels if everywhere else None,
        dropped=tuple(name for name in policy.quasi if name not in present),
        identifiers=tuple(name for name in policy.identifiers if name in present),
    )


def _whose(published: Published, data: Classes) -> Classes:
    """The published rows as the people of the data, whose numbers the published table does not have."""
    coarse = data if published.levels is None else data.project(published.counted.names).at(published.levels)
    found = published.counted.lookup(list(coarse.tuples())) if published.levels is not None else None
    if found is None or int(found.sum()) != published.records or (found != coarse.rows)[found > 0].any():
        raise UsageError(
            f"A person has several rows, and those of {published.name} cannot be matched with the data, so nobody can say "
            "how many people are behind them.",
            remedy="Give the table as `discreet anonymise` wrote it from these data.",
        )
    spreads = {name: spread for name, spread in coarse.spreads.items() if name in published.counted.spreads}
    return replace(coarse, spreads=spreads).keep(found > 0)


# What can be measured now: the risk of the data, of what is published, and what an adversary would do to each.
MOST_COLUMNS = 3
"""Combinations of up to so many quasi-identifiers are looked at."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The data, what is published of them, and what both risk."""

    source: str
    columns: int
    policy: Policy
    singling_out: SinglingOut
    """Which few quasi-identifiers single people out."""
    assessment: Assessment
    """Of the data as they are."""
    published: Published | None
    remaining: Assessment | None
    """Of what is published."""

    @property
    def leaving(self) -> Assessment:
        """Risk of what is handed out: the published table, or else the data."""
        return self.assessment if self.remaining is None else self.remaining

    @property
    def leaving_name(self) -> str:
        return self.source if self.published is None else self.published.name

    @property
    def struck(self) -> Attacked | None:
        """What an adversary would do to what leaves the house."""
        return cast("Attacked | None", self.leaving.attack)

    @property
    def struck_exceeds(self) -> bool:
        """Whether the adversary re-identifies more people than the limits allow."""
        found = self.struck
        return found is not None and found.exceeds(self.leaving.threshold, self.leaving.allowed_at_risk)

    @property
    def exceeded(self) -> bool:
        """Whether what leaves the house is above the policy's limits."""
        names = self.published is not None and bool(self.published.identifiers)
        return self.leaving.exceeded or self.struck_exceeds or names

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        published = self.published
        return {
            "data": {"source": self.source, "columns": self.columns, "risk": self.assessment.to_dict()},
            "published": None
            if published is None or self.remaining is None
            else {
                "source": published.name,
                "levels": published.levels,
                "left_out_columns": list(published.dropped),
                "identifiers": list(published.identifiers),
                "risk": self.remaining.to_dict(),
            },
        }


def measure(project: ProjectFile) -> Measured:
    """Read the tables that the project names, and measure them."""
    policy = Policy.load(project.policy)
    table = read(project.data, policy=policy)
    attack = (
        None if project.attack is None else Attack.from_dict(Extensions.split(read_attack(Path(project.attack)))[0])
    )
    population: Table | int | None = None
    if project.population is not None:
        population = (
            read(project.population, policy=policy.for_population())
            if isinstance(project.population, str)
            else project.population
        )
    return measure_tables(table, policy=policy, crowd=population, attack=attack, published=project.published)


def measure_tables(
    table: Table,
    *,
    policy: Policy,
    crowd: Table | int | None = None,
    attack: Attack | None = None,
    published: str | Path | None = None,
    called: str | None = None,
) -> Measured:
    """Measure tables that are open already; `called` names the published one."""
    assessment = assess(table, population=crowd, attack=attack)
    shown = remaining = None
    if published is not None:
        own = read(published, policy=published_policy(policy, read(published).columns))
        shown = match_levels(own, table.classes(), policy)
        if table.person:
            shown = replace(shown, counted=_whose(shown, table.classes(sensitive=policy.sensitive)))
        shown = shown if called is None else replace(shown, name=called)
        # Against the same population, as far as the published labels are in its hierarchies.
        if isinstance(crowd, int):
            crowd = max(crowd, shown.records)
        elif shown.levels is None:
            crowd = None
        remaining = assess(shown, population=crowd, attack=attack)
    return Measured(
        source=table.name,
        columns=len(table.columns),
        policy=policy,
        singling_out=singling_out(table.classes(), largest=MOST_COLUMNS),
        assessment=assessment,
        published=shown,
        remaining=remaining,
    )
