"""The strict file of a data-sharing project: which data, under which policy, given to whom through which store."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import PolicyError
from discreet.policy.diagnostics import shape_error, syntax_error

NAME = "project.toml"
DESCRIBED = "docs/reference/project-file.md describes every key."


class ProjectSection(BaseModel):
    """What may stand in the file."""

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
                f"The project file cannot be read ({type(error).__name__}).",
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
            raise shape_error(error, file=file, source=source, known_keys=_known_keys, described=DESCRIBED) from None
        return cls(**_placed(section.model_dump(), Path(folder)), file=file)


PLACES = ("data", "policy", "population", "attack", "published", "store")
LISTS = ("releases", "linkage", "databases")


def _known_keys(place: Sequence[str]) -> list[str]:
    return list(ProjectSection.model_fields)


def _placed(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    found = dict(content)
    for name in PLACES:
        found[name] = _place(found[name], folder)
    for name in LISTS:
        found[name] = None if found[name] is None else tuple(found[name])
    return found


def _place(given: str | int | None, folder: Path) -> str | int | None:
    """A path seen from the folder of the file; addresses with a scheme stay as they are."""
    if not isinstance(given, str) or "://" in given:
        return given
    plain = given.replace(",", "").replace("_", "")
    return int(plain) if plain.isdigit() else str(folder / given)


MEANING = {
    "population": "the people an adversary may know of: a table, or just their number",
    "attack": "what an adversary gains, pays and risks (discreet attack init --out attack.toml)",
    "published": "the anonymised table as it is handed out (discreet anonymise ... --out safe.csv)",
    "store": "the store whose ledger has the disclosures",
    "releases": "releases to report on; all of the store without this line",
    "linkage": "linkage projects to report on; all of the store without this line",
    "databases": "databases behind a gateway to report on; all of the store without this line",
}
EXAMPLES: dict[str, Any] = {
    "population": "population.parquet",
    "attack": "attack.toml",
    "published": "safe.csv",
    "store": "store.db",
    "releases": ["spring"],
    "linkage": ["registry"],
    "databases": ["hospital"],
}


def draft_project(*, title: str, data: str, policy: str, **given: str | int | None) -> str:
    """The text of a project file with a comment on every key; what is not given is commented out.

    >>> print(draft_project(title="Spring", data="a.csv", policy="policy.toml").splitlines()[1])
    title = "Spring"
    """
    lines = ["# A data-sharing project: discreet report FOLDER tells all of it. Paths are relative to this file."]
    lines += [f"{key} = {_written(value)}" for key, value in (("title", title), ("data", data), ("policy", policy))]
    for key, meaning in MEANING.items():
        value = given.get(key)
        lines += ["", f"# {meaning}"]
        lines.append(f"# {key} = {_written(EXAMPLES[key])}" if value is None else f"{key} = {_written(value)}")
    return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
