"""Linkage specification: identifying and sensitive attributes, declared in a link file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from discreet.errors import PolicyError
from discreet.linkage.masking.comparison import Kind
from discreet.policy import Policy
from discreet.policy.diagnostics import line_of, shape_error, syntax_error
from discreet.sources.duckdb_scratch import literal
from discreet.wording import reason

# The strict shape of a link file. Unknown keys are refused.
Case = Literal["upper", "lower", "keep"]
Sounds = Literal["metaphone", "cologne"]
Clean = Literal["id", "phone"]
AttributeKind = Kind | Literal["clk"]
"""How an attribute is compared: as people and the machine do, or as a whole record that another tool has encoded."""

PARTS = ("%Y", "%m", "%d")
DATES = ("%Y-%m-%d", "%m/%d/%Y")
"""How dates are written unless an attribute says otherwise."""


class _LinkSection(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def checked_formats(formats: list[str] | None) -> list[str] | None:
    """Date formats, each with year, month and day once."""
    for written in formats or ():
        if sorted(re.findall(r"%.", written)) != sorted(PARTS):
            raise PydanticCustomError("formats", "a format has %Y, %m and %d once each, such as %d.%m.%Y")
    return formats


class AttributeSection(_LinkSection):
    """One identifying attribute."""

    kind: AttributeKind = Field(
        description="How values are compared: string, fixed (an ID), date or category; clk is an encoded record."
    )
    formats: list[str] | None = Field(
        default=None,
        min_length=1,
        description='How dates are written, in strptime notation; "%Y-%m-%d" and "%m/%d/%Y" when absent.',
    )

    clean: Clean | None = Field(
        default=None,
        description='What of an ID is imported: "id", its letters and digits, or "phone", its last nine digits.',
    )

    @field_validator("formats")
    @classmethod
    def _whole(cls, formats: list[str] | None) -> list[str] | None:
        return checked_formats(formats)


class SecondSection(_LinkSection):
    """Where the second table differs from the first."""

    id: str | None = Field(default=None, description="Column that names a record of the second table.")
    sensitive: list[str] | None = Field(default=None, description="Sensitive columns of the second table.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Attributes whose column has another name in the second table."
    )
    formats: dict[str, list[str]] = Field(
        default_factory=dict, description="How dates are written in the second table, per attribute."
    )
    delimiter: str | None = Field(
        default=None,
        min_length=1,
        max_length=1,
        description="What separates the cells of its CSV; sniffed when absent.",
    )
    encoding: str | None = Field(default=None, description="Encoding of its CSV; UTF-8 when absent.")

    @field_validator("formats")
    @classmethod
    def _whole(cls, formats: dict[str, list[str]]) -> dict[str, list[str]]:
        for written in formats.values():
            checked_formats(written)
        return formats


class LinkageSection(_LinkSection):
    """What is linked, by what, and what is split off."""

    id: str | None = Field(default=None, description="Column that names a record; it is not published.")
    identifying: dict[str, AttributeSection] = Field(
        min_length=1, description="Attributes that identify people, at least two; or one of kind clk."
    )
    sensitive: list[str] = Field(default_factory=list, description="Columns split off at import.")
    swap: list[str] | None = Field(
        default=None, min_length=2, max_length=2, description="Two strings that may be swapped: first and last name."
    )
    personal: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Attributes in which people of one household differ; the given name and dates when absent.",
    )
    within: bool = Field(
        default=False, description="Of several tables, whether records of one table are compared, too."
    )
    sounds: Sounds = Field(default="metaphone", description='How names sound: "metaphone" or, in German, "cologne".')
    case: Case = Field(default="upper", description='Letters of all values: "upper", "lower" or "keep".')
    missing: list[str] = Field(default_factory=list, description="Values that mean missing, besides empty ones.")
    delimiter: str | None = Field(
        default=None, min_length=1, max_length=1, description="What separates the cells of a CSV; sniffed when absent."
    )
    encoding: str | None = Field(default=None, description="Encoding of a CSV; UTF-8 when absent.")
    second: SecondSection | None = Field(default=None, description="Where the second table differs.")


class LinkFile(_LinkSection):
    """A link file."""

    linkage: LinkageSection = Field(description="What is linked, by what, and what is split off.")


def known_keys(place: Sequence[str]) -> list[str]:
    """The keys of a section."""
    inner: dict[tuple[str, ...], type[BaseModel]] = {(): LinkFile, ("linkage",): LinkageSection}
    inner[("linkage", "second")] = SecondSection
    return list(inner.get(tuple(place), AttributeSection).model_fields)


def link_schema() -> dict[str, Any]:
    """The JSON Schema of a link file."""
    schema = LinkFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Discreet link file"}


DESCRIBED = "docs/reference/link-file.md describes every key."


@dataclass(frozen=True)
class Attribute:
    """An identifying attribute, and its column in each table."""

    name: str
    kind: Kind
    formats: tuple[str, ...] = ()
    """How dates are written."""
    columns: tuple[str, str] = ("", "")
    clean: Clean | None = None
    second_formats: tuple[str, ...] = ()
    """How dates are written in the second table, where that differs."""
    encoded: bool = False
    """Whether values are encoded records, of which people could only see that they are equal or different."""

    def formats_of(self, place: int) -> tuple[str, ...]:
        """How dates are written in a table."""
        return self.second_formats if place and self.second_formats else self.formats


@dataclass(frozen=True)
class TableSide:
    """What is particular to one of the tables."""

    id: str | None
    sensitive: tuple[str, ...]
    delimiter: str | None
    encoding: str | None

    @property
    def policy(self) -> Policy:
        """The settings with which `discreet.read` reads the table."""
        return Policy(delimiter=self.delimiter, encoding=self.encoding)


@dataclass(frozen=True)
class LinkageSpec:
    """Which attributes tell people apart, which columns are sensitive, and how values are written.

    >>> spec = LinkageSpec.from_dict({"linkage": {"identifying": {"name": {"kind": "string"}, "born": {"kind": "date"}}}})
    >>> spec
    LinkageSpec(name string, born date; 0 sensitive)
    >>> spec.kinds
    {'name': 'string', 'born': 'date'}
    """

    attributes: tuple[Attribute, ...]
    sides: tuple[TableSide, TableSide]
    swap: tuple[str, str] | None = None
    case: Case = "upper"
    missing: tuple[str, ...] = ()
    personal: tuple[str, ...] = ()
    """Attributes in which people of one household differ."""
    within: bool = False
    sounds: Sounds = "metaphone"
    content: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The file as it was written, which a project keeps."""

    @classmethod
    def load(cls, path: str | Path) -> LinkageSpec:
        """Read a link file."""
        path = Path(path)
        try:
            source = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise PolicyError(
                "There is no such link file.", file=str(path), remedy="docs/reference/link-file.md shows one."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise PolicyError(
                f"The link file cannot be read ({reason(error)}).",
                file=str(path),
                remedy="Save it as UTF-8 text.",
            ) from None
        return cls.parse(source, file=str(path))

    @classmethod
    def parse(cls, source: str, *, file: str = "link.toml") -> LinkageSpec:
        """Read the text of a link file; `file` is what errors call it."""
        try:
            content = tomllib.loads(source)
        except tomllib.TOMLDecodeError as error:
            raise syntax_error(error, file) from None
        return _build(content, file=file, source=source)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> LinkageSpec:
        """Read a dictionary of the file's shape."""
        return _build(dict(content), file="", source="")

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes, in the order of the file."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def kinds(self) -> dict[str, Kind]:
        """How each attribute is compared."""
        return {attribute.name: attribute.kind for attribute in self.attributes}

    @property
    def encoded(self) -> bool:
        """Whether records are encoded, so that nobody can review them."""
        return any(attribute.encoded for attribute in self.attributes)

    def attribute(self, name: str) -> Attribute:
        """One attribute."""
        return self.attributes[self.names.index(name)]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{attribute.name} {attribute.kind}" for attribute in self.attributes)
        return f"LinkageSpec({kinds}; {len(self.sides[0].sensitive)} sensitive)"


def _build(content: dict[str, Any], *, file: str, source: str) -> LinkageSpec:
    try:
        parsed = LinkFile.model_validate(content).linkage
    except ValidationError as error:
        raise shape_error(error, file=file, source=source, known_keys=known_keys, described=DESCRIBED) from None
    second = parsed.second or SecondSection()
    first_side = TableSide(parsed.id, tuple(parsed.sensitive), parsed.delimiter, parsed.encoding)
    second_side = TableSide(
        second.id or parsed.id,
        first_side.sensitive if second.sensitive is None else tuple(second.sensitive),
        second.delimiter or parsed.delimiter,
        second.encoding or parsed.encoding,
    )
    attributes = []
    for name, section in parsed.identifying.items():
        formats = tuple(section.formats or DATES) if section.kind == "date" else ()
        columns = (name, second.columns.get(name, name))
        theirs = tuple(second.formats.get(name, ()))
        kind: Kind = "category" if section.kind == "clk" else section.kind
        encoded = section.kind == "clk"
        attributes.append(Attribute(name, kind, formats, columns, section.clean, theirs, encoded))
    spec = LinkageSpec(
        tuple(attributes),
        (first_side, second_side),
        swap=(parsed.swap[0], parsed.swap[1]) if parsed.swap else None,
        case=parsed.case,
        missing=tuple(parsed.missing),
        personal=tuple(personal_attributes(parsed) if parsed.personal is None else parsed.personal),
        within=parsed.within,
        sounds=parsed.sounds,
        content=content,
    )
    for problem, remedy, key in _contradictions(parsed, spec):
        raise PolicyError(problem, remedy=remedy, file=file, line=line_of(source, ["linkage", *key]))
    return spec


def personal_attributes(parsed: LinkageSection) -> Iterator[str]:
    """The given name (first of `swap`, or the first string) and all dates."""
    strings = [name for name, section in parsed.identifying.items() if section.kind == "string"]
    yield from (parsed.swap or strings)[:1]
    yield from (name for name, section in parsed.identifying.items() if section.kind == "date")


def _contradictions(parsed: LinkageSection, spec: LinkageSpec) -> Iterator[tuple[str, str, list[str]]]:
    """What each key alone cannot tell: problem, remedy, place."""
    if len(parsed.identifying) < 2 and not spec.encoded:
        yield "one identifying attribute is too few.", "Name at least two, or one of kind clk.", ["identifying"]
    if len(parsed.identifying) > 1 and spec.encoded:
        problem = "an attribute of kind 'clk' is the whole record, and stands alone."
        yield problem, "Remove the others: beside an encoding they help to decipher it.", ["identifying"]
    for name, section in parsed.identifying.items():
        if section.formats and section.kind != "date":
            problem = f"attribute '{name}' has date formats, but is of kind '{section.kind}'."
            yield problem, 'Remove them, or set kind = "date".', ["identifying", name]
        if section.clean and section.kind != "fixed":
            problem = f"attribute '{name}' is cleaned as an ID, but is of kind '{section.kind}'."
            yield problem, 'Remove `clean`, or set kind = "fixed".', ["identifying", name]
    for name in parsed.second.formats if parsed.second else ():
        if name not in parsed.identifying or parsed.identifying[name].kind != "date":
            problem = f"'{name}' has date formats for the second table, but is no date."
            yield problem, 'Name an attribute of kind "date".', ["second", "formats"]
    for name in spec.swap or ():
        if spec.kinds.get(name) != "string" or len(set(spec.swap or ())) < 2:
            problem = f"'{name}' cannot be swapped: it takes two identifying attributes of kind 'string'."
            yield problem, 'For example swap = ["given_name", "surname"].', ["swap"]
    for name in parsed.personal or ():
        if name not in parsed.identifying:
            yield (
                f"'{name}' is personal, but is no identifying attribute.",
                "Name an attribute of [linkage.identifying].",
                ["personal"],
            )
    for name in parsed.second.columns if parsed.second else ():
        if name not in parsed.identifying:
            problem = f"'{name}' is renamed for the second table, but is no identifying attribute."
            yield problem, "Name an attribute of [linkage.identifying].", ["second", "columns"]
    # Roles are disjoint: what tells people apart is not also split off.
    for place, side in enumerate(spec.sides):
        roles = [*(attribute.columns[place] for attribute in spec.attributes), *side.sensitive]
        roles += [side.id] if side.id else []
        twice = [*({"record"} & {*spec.names}), *({"pseudonym"} & {*side.sensitive})]
        twice += [name for name in roles if roles.count(name) > 1]
        if twice:
            role = "sensitive" if twice[0] in side.sensitive else "id"
            remedy = "A column is the id, identifying or sensitive, and named once."
            yield f"column '{twice[0]}' has two roles.", remedy, [role]


# How a cell becomes the text that is compared and shown, as expressions of DuckDB: no value passes through Python.
DAYS = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
FLOATS = ("FLOAT", "DOUBLE")
GROUPS = {"%Y": "([0-9]{4})", "%m": "([0-9]{1,2})", "%d": "([0-9]{1,2})"}
FOLDS: dict[Case, str] = {"upper": "upper", "lower": "lower", "keep": ""}


def cleaned(cell: str, kind: str, attribute: Attribute, spec: LinkageSpec, place: int = 0) -> str:
    """The expression for a cell of a column of this type of DuckDB; missing values become NULL."""
    if attribute.encoded:
        return f"nullif(trim(CAST({cell} AS VARCHAR)), '')"
    if attribute.kind != "date":
        # Composed letters, single blanks, one case.
        single = f"trim(regexp_replace(nfc_normalize({_written(cell, kind)}), '\\s+', ' ', 'g'))"
        if attribute.clean == "id":
            single = f"regexp_replace({single}, '[^\\p{{L}}\\p{{N}}]', '', 'g')"
        elif attribute.clean == "phone":  # with and without the code of the country
            single = f"right(regexp_replace({single}, '[^0-9]', '', 'g'), 9)"
        return _present(f"{FOLDS[spec.case]}({single})", spec.missing)
    if kind in DAYS:
        return f"strftime({cell}, '%Y-%m-%d')"
    # YYYY-MM-DD. The digits are moved, not checked: a month 13 is a slip that people who decide should see.
    text = _present(f"trim({_written(cell, kind)})", spec.missing)
    moved = []
    for written in attribute.formats_of(place):
        pattern, order = pattern_of(written)
        parts = " || '-' || ".join(
            f"lpad(regexp_extract({text}, {literal(pattern)}, {order.index(part) + 1}), {width}, '0')"
            for part, width in (("%Y", 4), ("%m", 2), ("%d", 2))
        )
        moved.append(f"CASE WHEN regexp_full_match({text}, {literal(pattern)}) THEN {parts} END")
    return f"coalesce({', '.join(moved)})"


def plain(cell: str, kind: str) -> str:
    """The cell as text, without its blanks; what is empty is missing."""
    return f"nullif(trim({_written(cell, kind)}), '')"


def _written(cell: str, kind: str) -> str:
    """Text of a cell; a whole number that a frame holds as a float has no point."""
    text = f"CAST({cell} AS VARCHAR)"
    if kind not in FLOATS:
        return text
    return f"CASE WHEN {cell} = floor({cell}) AND abs({cell}) < 1e15 THEN CAST(CAST({cell} AS BIGINT) AS VARCHAR) ELSE {text} END"


def _present(cell: str, missing: Sequence[str]) -> str:
    words = ", ".join(f"upper({literal(word.strip())})" for word in ("", *missing))
    return f"CASE WHEN upper({cell}) IN ({words}) THEN NULL ELSE {cell} END"


def pattern_of(written: str) -> tuple[str, list[str]]:
    """A date format as a pattern, and the order of its parts.

    >>> pattern_of("%d.%m.%Y")
    ('([0-9]{1,2})\\\\.([0-9]{1,2})\\\\.([0-9]{4})', ['%d', '%m', '%Y'])
    >>> pattern_of("%Y%m%d")[0]
    '([0-9]{4})([0-9]{2})([0-9]{2})'
    """
    pieces = re.split(r"(%[Ymd])", written)
    glued = any(not piece for piece in pieces[2:-1:2])
    pattern = "".join(GROUPS.get(piece, re.escape(piece)) for piece in pieces)
    return (pattern.replace("{1,2}", "{2}") if glued else pattern), [piece for piece in pieces if piece in GROUPS]
