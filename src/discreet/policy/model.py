"""Policy as the product uses it: frozen, checked, every hierarchy loaded."""

from __future__ import annotations

import difflib
import hashlib
import json
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from pydantic import ValidationError

from discreet.errors import HierarchyError, PolicyError, UsageError
from discreet.kernel import AutoMask, Flat, Rule
from discreet.kernel.number_rules import with_decimal
from discreet.kernel.serialise import card
from discreet.policy.diagnostics import line_of, shape_error, syntax_error
from discreet.policy.gateway_section import GatewayPolicy, gateway_policy
from discreet.policy.hierarchy_files import rule_of
from discreet.policy.schema import Formulas, PolicyFile, Role
from discreet.wording import fine_percent, reason

DOUBTFUL: tuple[Role, ...] = ("quasi", "sensitive", "other")
"""Roles that are published: while one is a guess, its column counts as a quasi-identifier (the cautious reading)."""


@dataclass(frozen=True)
class Limits:
    """What may not be exceeded."""

    threshold: float = 0.2
    at_risk: float = 0.0


@dataclass(frozen=True)
class Population:
    """How the people among whom an adversary looks are written down."""

    size: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    labels: bool | None = None
    count: str | None = None
    person: Literal["row"] | tuple[str, ...] | None = None


@dataclass(frozen=True)
class Misuse:
    """How much misuse a query result may allow."""

    x: float = 2.0
    """How little the number of rows matters: 1 most, infinity not at all."""
    limit: float | None = None
    """The largest misuse score, where one is set."""
    review_days: int = 365
    """Days after which a sensitivity function is to be elicited again."""


@dataclass(frozen=True)
class Policy:
    """Which column plays which role, how its values generalise, and which limits hold.

    >>> policy = Policy.from_dict({"columns": {"zip": {"role": "quasi", "hierarchy": {"mask": 5}}}})
    >>> policy.quasi, policy.rule("zip").height
    (('zip',), 6)
    """

    roles: Mapping[str, Role] = field(default_factory=lambda: MappingProxyType({}))
    rules: Mapping[str, Rule] = field(default_factory=lambda: MappingProxyType({}))
    distances: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Per sensitive column, the distance of t-closeness, where the policy chooses one."""
    column_weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """How much the detail of quasi-identifiers is worth to the recipient; 1 where nothing is said."""
    at_least: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The lowest level at which quasi-identifiers may be published; 0 where nothing is said."""
    at_most: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The highest one; the last where nothing is said."""
    limits: Limits = Limits()
    population: Population = Population()
    economics: Mapping[str, float] | None = None
    """The four amounts of [economics], where the policy has them."""
    sensitivity: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    """Per sensitive column its table of weights, as the sections [sensitivity.COLUMN] give them."""
    misuse: Misuse = Misuse()
    gateway: GatewayPolicy | None = None
    """What the PostgreSQL gateway watches, where the policy says so."""
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    labels: bool = True
    missing: tuple[str | int | float, ...] = ()
    """Codes that stand for a missing value; numbers however many decimals of zero they are written with."""
    decimal: str = "."
    """What separates the decimals of numbers written as text."""
    count: str | None = None
    weight: str | None = None
    """Column of survey weights, which are numbers above 0."""
    household: str | None = None
    """Column of household numbers."""
    person: Literal["row"] | tuple[str, ...] | None = None
    """Columns that say whose row it is, where a person may have several rows.

    "row" where the policy says that each row is a person, even if numbers of an identifier repeat.
    """
    publish_person: bool = False
    """Whether these columns may be published as they are, which ties the rows of a person together."""
    formulas: Formulas = "quote"
    """What becomes of CSV cells that a spreadsheet would run."""
    file: str = ""
    digest: str = ""
    """SHA-256 of the policy and of its hierarchies: what a ledger entry refers to."""
    unconfirmed: tuple[str, ...] = ()
    """Columns whose role is a guess that no person has confirmed: a role with a question mark."""
    _content: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The file as it was read, for the digest."""

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy file; relative paths inside it are relative to it."""
        path = Path(path)
        try:
            source = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise PolicyError(
                "There is no such policy file.", file=str(path), remedy="Draft one with: discreet policy init DATA"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            problem = f"The policy file cannot be read ({reason(error)})."
            raise PolicyError(problem, file=str(path), remedy="Save it as UTF-8 text.") from None
        return cls.parse(source, folder=path.parent, file=str(path))

    @classmethod
    def parse(cls, source: str, *, folder: str | Path = ".", file: str = "policy") -> Policy:
        """The same from the text of a file; `file` is what errors call it."""
        try:
            content = tomllib.loads(source)
        except tomllib.TOMLDecodeError as error:
            raise syntax_error(error, file) from None
        return _build(content, folder=Path(folder), file=file, source=source)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, folder: str | Path = ".") -> Policy:
        """The same from a dictionary of the file's shape."""
        return _build(dict(content), folder=Path(folder), file="", source="")

    def named(self, role: Role) -> tuple[str, ...]:
        """Columns that count as one role, in the order of the file; guesses are read cautiously."""
        said = {self.count, self.weight, self.household, *self.owners}  # what [data] names is no guess
        doubtful = {name for name in self.unconfirmed if self.roles[name] in DOUBTFUL} - said
        return tuple(
            name for name, its_role in self.roles.items() if ("quasi" if name in doubtful else its_role) == role
        )

    def spelled_role(self, column: str) -> str:
        """The role as the file has it, with its question mark."""
        return f"{self.roles[column]}{'?' if column in self.unconfirmed else ''}"

    def spelled(self, columns: Iterable[str]) -> str:
        """Columns with their roles as the file has them, in words."""
        return ", ".join(f"{name} ({self.spelled_role(name)})" for name in columns)

    def confirm(self, *columns: str) -> Policy:
        """The same policy with the guessed roles of these columns confirmed.

        >>> draft = Policy.from_dict({"columns": {"zip": {"role": "quasi?"}, "plan": {"role": "other?"}}})
        >>> draft.quasi, draft.confirm("plan").quasi, draft.confirm("plan").unconfirmed
        (('zip', 'plan'), ('zip',), ('zip',))
        """
        if not columns:
            raise UsageError(
                f"No column is named. Not confirmed: {', '.join(self.unconfirmed) or 'none'}.",
                remedy="Name the columns, or confirm all of them: policy.confirm(*policy.unconfirmed)",
            )
        for name in columns:
            if name not in self.roles:
                close = difflib.get_close_matches(name, self.roles, n=1)
                raise UsageError(
                    f"The policy has no column '{name}'.",
                    remedy=f"Did you mean '{close[0]}'?" if close else f"Not confirmed: {', '.join(self.unconfirmed)}.",
                )
        sections = self._content.get("columns", {})
        confirmed = {name: {**sections[name], "role": self.roles[name]} for name in columns if name in sections}
        content = {**self._content, "columns": {**sections, **confirmed}} if confirmed else self._content
        return replace(
            self,
            unconfirmed=tuple(name for name in self.unconfirmed if name not in columns),
            digest=_digest(content, self.rules) if confirmed else self.digest,
            _content=content,
        )

    def refuse_unconfirmed(self) -> None:
        """Stop if a role is a guess: nothing is written or released by a guess."""
        if self.unconfirmed:
            roles = "The role of a column is" if len(self.unconfirmed) == 1 else "The roles of columns are"
            raise PolicyError(
                f"{roles} not confirmed: {self.spelled(self.unconfirmed)}.",
                remedy="Correct the roles that are wrong, then confirm them: discreet policy confirm "
                f"{shlex.quote(self.file) if Path(self.file).suffix else 'POLICY'} --all, or Policy.confirm(...) in Python.",
                file=self.file,
            )

    def refuse_tied_rows(self) -> None:
        """Stop if what says whose row it is would be published, unless the policy allows that in so many words."""
        if self.publish_person or not {*self.owners}.isdisjoint(self.unpublished):
            return
        if tied := [name for name in self.owners if self.roles.get(name) in ("sensitive", "other")]:
            raise PolicyError(
                f"What says whose row it is would be published: {self.spelled(tied)}. A recipient could tie the rows of "
                "a person together, and no class of people who look alike would protect them.",
                remedy='Give it role = "identifier" or "drop". If the rows have to stay tied together all the same, which no '
                "figure measures, say so in the policy: [data] publish_person = true",
                file=self.file,
            )

    @property
    def quasi(self) -> tuple[str, ...]:
        """Columns an adversary may know from elsewhere."""
        return self.named("quasi")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns that an attacker would like to learn."""
        return self.named("sensitive")

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Columns that name a person."""
        return self.named("identifier")

    @property
    def unpublished(self) -> tuple[str, ...]:
        """Columns that no output has: identifiers, what the policy drops, and a survey weight without a role."""
        return (*self.identifiers, *self.named("drop"), *{self.weight or ""} - {"", *self.roles})

    @property
    def owners(self) -> tuple[str, ...]:
        """Columns that say whose row it is; none where each row is a person."""
        return self.person if isinstance(self.person, tuple) else ()

    @property
    def several_rows(self) -> bool:
        """Whether columns say whose row it is: a person may have several."""
        return bool(self.owners)

    def for_population(self) -> Policy:
        """The same quasi-identifiers and hierarchies, for reading the population; identifiers, where it has them."""
        # Numbers of people of the data must not repeat in the population unless it says whose row a row is.
        roles: dict[str, Role] = {
            **dict.fromkeys((*self.identifiers, *self.owners), "identifier"),
            **{name: self.roles[name] for name in self.quasi},
        }
        person = self.population.person or ("row" if self.person == "row" else None)
        return replace(
            self,
            roles=MappingProxyType(roles),
            unconfirmed=tuple(name for name in self.unconfirmed if name in roles),
            delimiter=self.population.delimiter,
            encoding=self.population.encoding,
            sheet=self.population.sheet,
            labels=self.population.labels is not False,
            count=self.population.count,
            weight=None,
            household=None,
            person=person,
        )

    def rule(self, column: str) -> Rule:
        """How the values of a column generalise."""
        return self.rules.get(column) or Flat(self.decimal)

    def __repr__(self) -> str:
        roles = ", ".join(
            f"{len(self.named(role))} {role}" for role in get_args(Role) if role != "drop" or self.named(role)
        )
        return f"Policy({roles})"

    def _repr_html_(self) -> str:
        rows = [(role, ", ".join(self.named(role)) or "none") for role in get_args(Role)]
        rows += [("not confirmed", ", ".join(self.unconfirmed))] if self.unconfirmed else []
        allowed = f"Up to {fine_percent(self.limits.at_risk)} of people" if self.limits.at_risk else "Nobody"
        return card(f"{allowed} may be at a risk above {self.limits.threshold:g}. What the columns are:", rows)


def _build(content: dict[str, Any], *, folder: Path, file: str, source: str) -> Policy:
    try:
        parsed = PolicyFile.model_validate(content)
    except ValidationError as error:
        raise shape_error(error, file=file, source=source) from None
    rules: dict[str, Rule] = {}
    for name, section in parsed.columns.items():
        if section.hierarchy is not None:
            try:
                rule = rule_of(section.hierarchy, folder)
                rules[name] = rule if parsed.data.decimal is None else with_decimal(rule, parsed.data.decimal)
            except HierarchyError as error:
                problem = f"hierarchy of column '{name}': {error.problem}"
                line = line_of(source, ["columns", name, "hierarchy"])  # only now: it looks through the whole file
                raise HierarchyError(problem, remedy=error.remedy, file=file, line=line) from None
    _refuse_two_roles(parsed, file=file, source=source)
    if parsed.data.weight is not None and parsed.data.count is not None:
        raise PolicyError(
            "[data] has both weight and count, but a row is either one person of a sample or several people.",
            remedy="Keep weight for survey weights, or count for rows that stand for several people of the data.",
            file=file,
            line=line_of(source, ["data", "weight"]),
        )
    for name, rows in (("data", parsed.data), ("population", parsed.population)):
        if rows.count is not None and rows.person not in (None, "row"):
            raise PolicyError(
                f"[{name}] has `count`, by which a row is several people, and `person`, by which a person is several rows.",
                remedy="Keep the one that the table was made by.",
                file=file,
                line=line_of(source, [name, "person"]),
            )
    _refuse_levels(parsed, rules, file=file, source=source)
    return Policy(
        roles=MappingProxyType({name: section.plain_role for name, section in parsed.columns.items()}),
        unconfirmed=tuple(name for name, section in parsed.columns.items() if section.role != section.plain_role),
        rules=MappingProxyType(rules),
        column_weights=_settings(parsed, "weight"),
        at_least=_settings(parsed, "at_least"),
        at_most=_settings(parsed, "at_most"),
        distances=MappingProxyType(
            {name: column.closeness for name, column in parsed.columns.items() if column.closeness}
        ),
        limits=Limits(**parsed.limits.model_dump(exclude_none=True)),
        population=Population(**{**parsed.population.model_dump(), "person": _person(parsed.population.person)}),
        economics=MappingProxyType(parsed.economics.model_dump()) if parsed.economics else None,
        sensitivity=MappingProxyType(
            {name: section.model_dump(exclude_none=True) for name, section in parsed.sensitivity.items()}
        ),
        misuse=Misuse(**parsed.misuse.model_dump(exclude_none=True)),
        gateway=gateway_policy(parsed, parsed.gateway) if parsed.gateway else None,
        **parsed.data.model_dump(include={"delimiter", "encoding", "sheet", "count", "weight", "household"}),
        labels=parsed.data.labels is not False,
        missing=tuple(parsed.data.missing),
        decimal=parsed.data.decimal or ".",
        formulas=parsed.data.formulas or "quote",
        person=_person(parsed.data.person),
        publish_person=parsed.data.publish_person is True,
        file=file,
        digest=_digest(content, rules),
        _content=content,
    )


def _person(declared: str | list[str] | None) -> Literal["row"] | tuple[str, ...] | None:
    """The columns that say whose row it is; a column that is called row is written as a list."""
    if declared is None or declared == "row":
        return "row" if declared else None
    return tuple(dict.fromkeys([declared] if isinstance(declared, str) else declared))


def _settings(parsed: PolicyFile, key: str) -> Mapping[str, Any]:
    """The columns that have a key, and what it says."""
    found = {name: getattr(section, key) for name, section in parsed.columns.items()}
    return MappingProxyType({name: value for name, value in found.items() if value is not None})


def _refuse_levels(parsed: PolicyFile, rules: Mapping[str, Rule], *, file: str, source: str) -> None:
    """Stop if a column may not be published at any level, or is not generalised at all."""
    for name, section in parsed.columns.items():
        asked = {key: getattr(section, key) for key in ("weight", "at_least", "at_most")}
        asked = {key: value for key, value in asked.items() if value is not None}
        if not asked:
            continue
        key, problem, remedy = next(iter(asked)), "", ""
        rule = rules.get(name, Flat())
        levels = {key: level for key, level in asked.items() if key != "weight"}
        too_high = [key for key, level in levels.items() if level >= rule.height and not isinstance(rule, AutoMask)]
        if section.role.rstrip("?") != "quasi":
            problem = f"only quasi-identifiers are generalised, and the role is '{section.role}'."
            remedy = f'Remove {", ".join(asked)}, or give [columns.{name}] the role "quasi".'
        elif too_high:
            key, problem = (
                too_high[0],
                f"the levels of the hierarchy are 0 to {rule.height - 1}, and this says {asked[too_high[0]]}.",
            )
            remedy = "Choose one of these levels; `discreet hierarchy show` shows them."
        elif len(levels) == 2 and levels["at_least"] > levels["at_most"]:
            key, problem = "at_most", f"at_least is {levels['at_least']}, so that no level is left."
            remedy = "Let at_least be no more than at_most."
        if problem:
            line = line_of(source, ["columns", name, key])
            raise PolicyError(f"'columns.{name}.{key}': {problem}", remedy=remedy, file=file, line=line)


def _digest(content: Mapping[str, Any], rules: Mapping[str, Rule]) -> str:
    leaves = {name: rule.leaves for name, rule in rules.items()}
    canonical = json.dumps([dict(content), leaves], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _refuse_two_roles(parsed: PolicyFile, *, file: str, source: str) -> None:
    """Stop if a column has two roles: what identifies a person has no weight."""
    for name, section in parsed.columns.items():
        if section.closeness and section.role.rstrip("?") != "sensitive":
            raise PolicyError(
                f"column '{name}' has a distance of t-closeness, but its role is '{section.role}'.",
                remedy=f'Give [columns.{name}] the role "sensitive", or remove closeness.',
                file=file,
                line=line_of(source, ["columns", name, "closeness"]),
            )
    for name in parsed.sensitivity:
        column = parsed.columns.get(name)
        if column is not None and column.plain_role != "sensitive":
            raise PolicyError(
                f"column '{name}' has weights, but its role is '{column.role}'.",
                remedy=f'Give [columns.{name}] the role "sensitive", or remove [sensitivity.{name}].',
                file=file,
                line=line_of(source, ["sensitivity", name]),
            )
    # In a governed table, too; only the key may also be an identifier.
    for name, table in (parsed.gateway.tables if parsed.gateway else {}).items():
        lists = {"quasi": table.quasi or [], "sensitive": table.sensitive or [], "identifiers": table.identifiers or []}
        seen: dict[str, str] = dict.fromkeys(table.key, "key")
        for role, columns in lists.items():
            for listed in columns:
                if seen.setdefault(listed, role) != role and (seen[listed], role) != ("key", "identifiers"):
                    raise PolicyError(
                        f"column '{listed}' of table '{name}' is listed under {seen[listed]} and {role}.",
                        remedy="A column either helps to find a person or is what would be learned; choose one.",
                        file=file,
                        line=line_of(source, ["gateway", "tables", name, role]),
                    )
