"""The strict shape of the policy file. Unknown keys are refused; the JSON Schema comes from here."""

from __future__ import annotations

import math
from datetime import date
from ipaddress import ip_network
from itertools import pairwise
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, field_validator
from pydantic_core import PydanticCustomError

Role = Literal["identifier", "quasi", "sensitive", "other", "drop"]
DraftedRole = Literal[
    "identifier", "quasi", "sensitive", "other", "drop", "identifier?", "quasi?", "sensitive?", "other?", "drop?"
]
"""A role as the file has it; a question mark says that no person has confirmed it."""
Formulas = Literal["quote", "keep"]


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class MaskRule(_Section):
    """Hide one more character from the right per level."""

    mask: int = Field(ge=1, le=64, description="Number of characters of the values; one more is hidden per level.")


class AutoMaskRule(_Section):
    """Hide one more character from the right per level, values of every length by themselves."""

    mask: Literal["auto"] = Field(description="As many levels as the longest value has characters.")


class PrefixRule(_Section):
    """The first characters, fewer and fewer, then one value for all."""

    prefix: list[int] = Field(min_length=1, description="Numbers of characters, the longest first.")


class CutsRule(_Section):
    """Intervals between cut points, open below and above, then one value for all."""

    cuts: list[int | float] = Field(min_length=1, description="Where one interval ends and the next begins.")


class TopBottomRule(_Section):
    """Top and bottom codes, intervals of growing width between them, then one value for all."""

    # Without either it is a WidthsRule: an editor must not find both.
    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["top"]}, {"required": ["bottom"]}]})

    top: int | float | None = Field(default=None, description="Numbers from here up become one value.")
    bottom: int | float | None = Field(default=None, description="Numbers below become one value.")
    widths: list[int] | None = Field(
        default=None, min_length=1, description="Widths of the intervals between; numbers stay as they are when absent."
    )


class MapRule(_Section):
    """Every value with what it becomes, from fine to coarse."""

    map: dict[str, list[str]] = Field(min_length=1, description="Per value, its value at level 1, 2, ...")


class WidthsRule(_Section):
    """Aligned intervals of growing width, then one value for all."""

    widths: list[int] = Field(min_length=1, description="Widths of the intervals, each a multiple of the one before.")


class AnyRule(_Section):
    """The value, then one value for all."""

    any: str = Field(min_length=1, description="The one value that stands for all.")


class DatesRule(_Section):
    """A day, then coarser periods, then one value for all."""

    dates: list[Literal["month", "quarter", "year", "decade", "century"]] = Field(
        min_length=1, description="Periods from fine to coarse."
    )
    format: str | None = Field(
        default=None, description="How dates are written, in strptime notation; YYYY-MM-DD when absent."
    )


RULE_KEYS = ("mask", "prefix", "top", "bottom", "widths", "cuts", "any", "dates", "map")
RULE_TAGS = ("file", "auto", *RULE_KEYS)


def _rule_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "file"
    keys = value if isinstance(value, dict) else {}
    if isinstance(keys.get("mask"), str):
        return "auto"
    # The first of these decides: widths may come with a top or a bottom.
    kind = next((key for key in RULE_KEYS if key in keys), None)
    return "top" if kind == "bottom" else kind


HierarchyRule = Annotated[
    Annotated[str, Tag("file")]
    | Annotated[MaskRule, Tag("mask")]
    | Annotated[AutoMaskRule, Tag("auto")]
    | Annotated[PrefixRule, Tag("prefix")]
    | Annotated[TopBottomRule, Tag("top")]
    | Annotated[WidthsRule, Tag("widths")]
    | Annotated[CutsRule, Tag("cuts")]
    | Annotated[AnyRule, Tag("any")]
    | Annotated[DatesRule, Tag("dates")]
    | Annotated[MapRule, Tag("map")],
    Discriminator(_rule_kind),
]


class ColumnSection(_Section):
    """One column of the data."""

    role: DraftedRole = Field(
        description="What the column is to an adversary; drop leaves it out of everything published. A question mark, as "
        "in quasi?, marks a guess: it can be measured, and nothing is written or released before it is confirmed."
    )
    hierarchy: HierarchyRule | None = Field(
        default=None, description="How values generalise: a built-in rule, or the path of a CSV (value;level 1;...)."
    )
    closeness: Literal["equal", "hierarchical", "ordered"] | None = Field(
        default=None,
        description="Distance of t-closeness for a sensitive column: ordered for numbers and dates; equal when absent.",
    )
    weight: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="How much the detail of a quasi-identifier is worth."
    )
    at_least: int | None = Field(default=None, ge=0, description="Lowest level at which it is published.")
    at_most: int | None = Field(default=None, ge=0, description="Highest level at which it is published.")

    @property
    def plain_role(self) -> Role:
        """The role without a question mark."""
        return cast(Role, self.role.removesuffix("?"))


def _columns(named: Any) -> Any:
    if not named or not all(isinstance(name, str) and name for name in (named if isinstance(named, list) else [named])):
        raise PydanticCustomError("person", 'a column is named, or several, as in "nr" or ["household", "member"]')
    return named


Person = Annotated[str | list[str], BeforeValidator(_columns)]


class DataSection(_Section):
    """How the data are written."""

    delimiter: str | None = Field(
        default=None, min_length=1, max_length=1, description="What separates the cells of a CSV; detected when absent."
    )
    encoding: str | None = Field(default=None, description="Encoding of a CSV; detected when absent.")
    sheet: str | None = Field(
        default=None, min_length=1, description="Sheet of a spreadsheet; the only one with a table when absent."
    )
    labels: bool | None = Field(
        default=None, description="false: codes of Stata and SPSS files instead of their value labels."
    )
    missing: list[str | int | float] = Field(
        default_factory=list, description="Codes that stand for a missing value, in every column."
    )
    decimal: Literal[".", ","] | None = Field(
        default=None, description="What separates the decimals of numbers written as text; a point when absent."
    )
    count: str | None = Field(default=None, description="Column that says how many people a row stands for.")
    weight: str | None = Field(
        default=None, description="Column of survey weights: how many people of the population a person stands for."
    )
    household: str | None = Field(default=None, description="Column of household numbers.")
    formulas: Formulas | None = Field(
        default=None,
        description="CSV cells that a spreadsheet would run: quote (the default) puts an apostrophe before them, keep "
        "leaves them as they are, for programs.",
    )
    person: Person | None = Field(
        default=None,
        description="Column, or list of columns, that says whose row it is, where a person may have several rows; "
        "row: each row is a person, even where the numbers of an identifier repeat.",
    )
    publish_person: bool | None = Field(
        default=None,
        description="true: what says whose row it is may be published, though it ties the rows of a person together.",
    )


class LimitsSection(_Section):
    """What may not be exceeded; `discreet assess` ends with exit code 1 when something is."""

    threshold: float | None = Field(
        default=None, gt=0, le=1, description="The risk above which a person counts as at risk; 0.2 when absent."
    )
    at_risk: float | None = Field(
        default=None, ge=0, le=1, description="Largest share of people above the threshold; 0 when absent."
    )


class PopulationSection(_Section):
    """The people among whom an adversary looks for a target."""

    size: int | None = Field(default=None, ge=1, description="How many people there are, where no table lists them.")
    delimiter: str | None = Field(
        default=None,
        min_length=1,
        max_length=1,
        description="What separates the cells of its CSV; detected when absent.",
    )
    encoding: str | None = Field(default=None, description="Encoding of its CSV; detected when absent.")
    sheet: str | None = Field(
        default=None, min_length=1, description="Sheet of its spreadsheet; the only one with a table when absent."
    )
    labels: bool | None = Field(default=None, description="false: codes of its file instead of their value labels.")
    count: str | None = Field(default=None, description="Column that says how many people a row of it stands for.")
    person: Person | None = Field(
        default=None,
        description="Column, or list of columns, that says whose row of it a row is; row: each is a person.",
    )


class EconomicsSection(_Section):
    """What a record is worth, for the single-decision model of the field (Wan et al. 2015)."""

    adversary_gain: float = Field(ge=0, description="What the attacker gains when a guess is right.")
    adversary_cost: float = Field(ge=0, description="What one attempt costs the attacker.")
    publisher_benefit: float = Field(ge=0, description="What a record in full detail is worth to the publisher.")
    publisher_loss: float = Field(ge=0, description="What the publisher loses when a record is re-identified.")


Weight = Annotated[float, Field(ge=0, le=1)]
Bin = Annotated[list[float], Field(min_length=2, max_length=2)]


class WeightsSection(_Section):
    """What the values of one column weigh, from 0 (harmless) to 1 (the worst)."""

    values: dict[str, Weight] = Field(default_factory=dict, description="What each listed value weighs.")
    bins: list[Bin] = Field(
        default_factory=list, description="Pairs of an inclusive upper bound and what numbers up to it weigh."
    )
    otherwise: Weight | None = Field(
        default=None, description="What any other value weighs; 0 when absent, or 1 where there are bins."
    )

    @field_validator("bins")
    @classmethod
    def _grow(cls, bins: list[list[float]]) -> list[list[float]]:
        if any(not 0 <= weight <= 1 for _, weight in bins):
            raise PydanticCustomError("bins", "a weight must be from 0 to 1, as in [[100, 0.1], [250, 0.2]]")
        if any(not low < high for (low, _), (high, _) in pairwise(bins)) or any(math.isnan(b) for b, _ in bins):
            raise PydanticCustomError("bins", "the bounds must grow, as in [[100, 0.1], [250, 0.2]]")
        return bins


class SensitivitySection(WeightsSection):
    """How bad it would be if a value of this column fell into the wrong hands."""

    contexts: dict[str, WeightsSection] = Field(
        default_factory=dict, description="Other weights in a context, such as night."
    )
    elicited: str | None = Field(default=None, description="When experts last said so, as 2026-11-19.")

    @field_validator("elicited")
    @classmethod
    def _a_day(cls, elicited: str) -> str:
        try:
            date.fromisoformat(elicited)
        except ValueError:
            raise PydanticCustomError("day", "a day is written as 2026-11-19") from None
        return elicited


class MisuseSection(_Section):
    """How much misuse a query result may allow."""

    x: float | None = Field(
        default=None, ge=1, description="How little the number of rows matters: 1 most, inf not at all; 2 when absent."
    )
    limit: float | None = Field(
        default=None, ge=0, description="Largest misuse score; `discreet misuse score` ends with exit code 1 above it."
    )
    review_days: int | None = Field(
        default=None, ge=1, description="Days after which weights are to be asked for again; 365 when absent."
    )


class GatewayTableSection(_Section):
    """A table of the database whose results the gateway scores."""

    key: list[str] = Field(default_factory=list, description="Columns that say whom a row is about.")
    entity: str | None = Field(
        default=None, min_length=1, description="What the key numbers; tables with the same one are about the same."
    )
    identifiers: list[str] | None = Field(
        default=None, description="Columns that name a person; those of [columns] when absent."
    )
    quasi: list[str] | None = Field(default=None, description="Quasi-identifiers; those of [columns] when absent.")
    sensitive: list[str] | None = Field(default=None, description="Sensitive columns; those of [columns] when absent.")


Action = Literal["deny", "subset", "mask", "alert"]


class GatewayLimitSection(_Section):
    """A limit for some users in some context; the first that fits holds."""

    users: list[str] = Field(default_factory=list, description="Who logs in as one of these; anybody when empty.")
    roles: list[str] = Field(default_factory=list, description="Members of one of these roles; anybody when empty.")
    applications: list[str] = Field(default_factory=list, description="Names of applications; any when empty.")
    addresses: list[str] = Field(default_factory=list, description="Networks, as 10.0.0.0/8; any when empty.")
    hours: str | None = Field(
        default=None,
        pattern=r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-4]):[0-5]\d$",
        description="Time of day of the gateway's machine, as 08:00-18:00; it may go past midnight.",
    )
    limit: float | None = Field(default=None, ge=0, description="Largest exposure; that of [misuse] when absent.")
    action: Action | None = Field(default=None, description="What happens above it; that of [gateway] when absent.")
    context: str | None = Field(default=None, description="Context whose weights hold (sensitivity.NAME.contexts).")

    @field_validator("addresses")
    @classmethod
    def _networks(cls, addresses: list[str]) -> list[str]:
        for one in addresses:
            try:
                ip_network(one, strict=False)
            except ValueError:
                raise PydanticCustomError("network", "an address is written as 10.0.0.7 or 10.0.0.0/8") from None
        return addresses


class AggregateColumnSection(_Section):
    """What statistics about one sensitive column need to know."""

    bounds: list[int | float] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="Least and largest value that counts in sums and averages, such as [0, 150000]; others are clipped.",
    )
    step: float | None = Field(
        default=None, gt=0, description="Grid of conditions and groups on this number: multiples of it."
    )

    @field_validator("bounds")
    @classmethod
    def _grow(cls, bounds: list[int | float] | None) -> list[int | float] | None:
        if bounds is not None and not (all(map(math.isfinite, bounds)) and bounds[0] < bounds[1]):
            raise PydanticCustomError("bounds", "the bounds must grow, as in [0, 150000]")
        return bounds


class AggregatesSection(_Section):
    """Statistics that touch a sensitive column: which groups are shown, with how much noise, and how many."""

    noise: float = Field(
        default=2.0, gt=0, le=1000, description="Standard deviation of the noise, in people (sums: in half ranges)."
    )
    audit: float = Field(
        default=0.2,
        gt=0,
        lt=1,
        description="Largest share of the uncertainty about anybody that all answers together may remove.",
    )
    answers: int = Field(
        default=200, ge=1, description="Answers per account and sensitive column (grouping sets times moments)."
    )
    known: float = Field(
        default=0.5, gt=0, lt=1, description="The same share for an attacker who knows everybody else beforehand."
    )
    smallest: int | None = Field(
        default=None, ge=2, description="Groups of fewer people are never shown; 7 when absent."
    )
    margin: int = Field(
        default=3, ge=0, description="Where the threshold of a group is: smallest + margin, give or take margin."
    )
    rows: int = Field(
        default=4, ge=1, le=1000, description="Most rows of one person that count in a group of joined rows."
    )
    bins: int = Field(default=100, ge=4, le=1000, description="Bins of the histogram behind percentiles.")
    columns: dict[str, AggregateColumnSection] = Field(
        default_factory=dict, description="Bounds and grid of sensitive numbers, by column."
    )
    projects: dict[str, list[str]] = Field(
        default_factory=dict, description="Users or roles that share one account, by the name of the account."
    )


class GatewaySection(_Section):
    """What the gateway watches, and what it does about it."""

    mode: Literal["shadow", "enforce"] = Field(
        default="shadow", description="shadow: decide and write down, but let through; enforce: act."
    )
    action: Action = Field(default="deny", description="What happens to a result above the limit.")
    tables: dict[str, GatewayTableSection] = Field(
        default_factory=dict, description="One section per governed table, named schema.table."
    )
    limits: list[GatewayLimitSection] = Field(default_factory=list, description="Limits by user, role and context.")
    exempt: list[str] = Field(default_factory=list, description="Users whose sessions nobody looks at.")
    functions: list[str] = Field(
        default_factory=list,
        description="Functions of your own that may be called: they give out nothing by themselves.",
    )
    days: float | None = Field(default=None, gt=0, description="How long what was seen counts; for ever when absent.")
    aggregates: AggregatesSection = Field(
        default_factory=AggregatesSection, description="Statistics that touch a sensitive column."
    )
    smallest_group: int | None = Field(
        default=None, ge=2, description="Earlier name of aggregates.smallest, and still read as that."
    )
    denials_per_hour: int = Field(
        default=60, ge=1, description="So many statements of a user are refused within an hour; then all are."
    )
    unnamed_rows: Literal["crowd", "alone"] | None = Field(default=None, description="Without effect by now.")
    refresh_seconds: float | None = Field(default=None, gt=0, description="Without effect by now.")
    refresh_changes: int | None = Field(default=None, ge=1, description="Without effect by now.")
    largest_histogram: int | None = Field(default=None, ge=1, description="Without effect by now.")


class PolicyFile(_Section):
    """A Discreet policy."""

    data: DataSection = Field(default_factory=DataSection, description="How the data are written down.")
    columns: dict[str, ColumnSection] = Field(default_factory=dict, description="One section per column.")
    limits: LimitsSection = Field(default_factory=LimitsSection, description="What may not be exceeded.")
    population: PopulationSection = Field(
        default_factory=PopulationSection, description="The people among whom an adversary looks."
    )
    economics: EconomicsSection | None = Field(default=None, description="What a record is worth, and to whom.")
    sensitivity: dict[str, SensitivitySection] = Field(
        default_factory=dict, description="One section per sensitive column: what its values weigh."
    )
    misuse: MisuseSection = Field(default_factory=MisuseSection, description="How much misuse a result may allow.")
    gateway: GatewaySection | None = Field(default=None, description="What the PostgreSQL gateway watches.")


def json_schema() -> dict[str, Any]:
    """JSON Schema of the policy file, for editors and other languages."""
    schema = PolicyFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Discreet policy"}
