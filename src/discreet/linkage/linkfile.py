"""The strict shape of a link file. Unknown keys are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

Kind = Literal["string", "fixed", "date", "category"]
Case = Literal["upper", "lower", "keep"]

PARTS = ("%Y", "%m", "%d")
DATES = ("%Y-%m-%d", "%m/%d/%Y")
"""How dates are written unless an attribute says otherwise."""


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AttributeSection(_Section):
    """One identifying attribute."""

    kind: Kind = Field(description="How values are compared: string, fixed (an ID), date or category.")
    formats: list[str] | None = Field(
        default=None,
        min_length=1,
        description='How dates are written, in strptime notation; "%Y-%m-%d" and "%m/%d/%Y" when absent.',
    )

    @field_validator("formats")
    @classmethod
    def _whole(cls, formats: list[str] | None) -> list[str] | None:
        for one in formats or ():
            if sorted(re.findall(r"%.", one)) != sorted(PARTS):
                raise PydanticCustomError("formats", "a format has %Y, %m and %d once each, such as %d.%m.%Y")
        return formats


class SecondSection(_Section):
    """Where the second table differs from the first."""

    id: str | None = Field(default=None, description="Column that names a record of the second table.")
    sensitive: list[str] | None = Field(default=None, description="Sensitive columns of the second table.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Attributes whose column has another name in the second table."
    )
    delimiter: str | None = Field(
        default=None,
        min_length=1,
        max_length=1,
        description="What separates the cells of its CSV; sniffed when absent.",
    )
    encoding: str | None = Field(default=None, description="Encoding of its CSV; UTF-8 when absent.")


class LinkageSection(_Section):
    """What is linked, by what, and what is split off."""

    id: str | None = Field(default=None, description="Column that names a record; it stays in the house.")
    identifying: dict[str, AttributeSection] = Field(
        min_length=2, description="Attributes by which people are told apart, one table each."
    )
    sensitive: list[str] = Field(default_factory=list, description="Columns split off at import.")
    swap: list[str] | None = Field(
        default=None, min_length=2, max_length=2, description="Two strings that may be swapped: first and last name."
    )
    case: Case = Field(default="upper", description='Letters of all values: "upper", "lower" or "keep".')
    missing: list[str] = Field(default_factory=list, description="Values that mean missing, besides empty ones.")
    delimiter: str | None = Field(
        default=None, min_length=1, max_length=1, description="What separates the cells of a CSV; sniffed when absent."
    )
    encoding: str | None = Field(default=None, description="Encoding of a CSV; UTF-8 when absent.")
    second: SecondSection | None = Field(default=None, description="Where the second table differs.")


class LinkFile(_Section):
    """A link file."""

    linkage: LinkageSection = Field(description="What is linked, by what, and what is split off.")


def known_keys(place: Sequence[str]) -> list[str]:
    """The keys that may stand in a section."""
    inner: dict[tuple[str, ...], type[BaseModel]] = {(): LinkFile, ("linkage",): LinkageSection}
    inner[("linkage", "second")] = SecondSection
    return list(inner.get(tuple(place), AttributeSection).model_fields)


def link_schema() -> dict[str, Any]:
    """The JSON Schema of a link file."""
    schema = LinkFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Discreet link file"}
