"""Files that people write, and files that commands write: keys, columns and names."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import json
import pkgutil
import re
import tomllib
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

from pyarrow import parquet

from discreet.policy import json_schema
from discreet.releases import open_release
from discreet.report.project import ProjectFile
from tests.house.surface.schema import flat
from tests.house.surface.shapes import Shape, lines, merged, shape
from tests.house.surface.snapshot import Items


def settings(folder: Path) -> Items:
    """Keys of the files that people write: policy, link file, project file, attack file."""
    link = somewhere("discreet.linkage", "link_schema")()
    items = {f"policy {path}": text for path, text in flat(json_schema(), json_schema()).items()}
    items |= {f"link file {path}": text for path, text in flat(link, link).items()}
    for field in dataclasses.fields(ProjectFile):
        if field.name != "file":
            items[f"project file .{field.name}"] = "required" if field.default is dataclasses.MISSING else "optional"
    return {**items, **lines("attack file", shape(tomllib.loads((folder / "attack.toml").read_text(encoding="utf-8"))))}


def somewhere(room: str, name: str) -> Callable[..., Any]:
    """A function without a public path, wherever in its room it is defined."""
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(package.__path__, f"{room}."):
        function: Callable[..., Any] | None = getattr(importlib.import_module(module.name), name, None)
        if function is not None:
            return function
    raise AssertionError(f"There is no {name} in {room}. If it has another name now, give it in {Path(__file__).name}.")


def formats(folder: Path, inputs: Set[Path]) -> Items:
    """Files that commands wrote beside their inputs, the manifest of a release, and the details of ledger entries."""
    items: Items = {}
    for path in sorted(path for path in set(folder.rglob("*")) - inputs if path.is_file()):
        name = re.sub(r"\b\d+-", "N-", path.relative_to(folder).as_posix())
        items[f"file {name}"] = _columns(path)
        if path.suffix in READERS:
            content = READERS[path.suffix](path.read_text(encoding="utf-8"))
            items |= lines(f"in {name}", merged(map(shape, content)))
    manifest = json.loads(open_release("spring", str(folder / "store.db")).manifest.to_bytes())
    return {**items, **lines("in the manifest of a release", shape(manifest)), **_details(folder / "ledger.jsonl")}


def _columns(path: Path) -> str:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", errors="replace", newline="") as file:  # one file is written in cp1252
            return f"columns {', '.join(next(csv.reader(file)))}"
    if path.suffix == ".parquet":
        schema = parquet.read_schema(path)
        return f"columns {', '.join(f'{name} {kind}' for name, kind in zip(schema.names, schema.types, strict=True))}"
    return "written"


def _json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


READERS: dict[str, Callable[[str], list[Any]]] = {
    ".json": lambda text: [json.loads(text)],
    ".jsonl": _json_lines,
    ".keys": lambda text: [json.loads(text)],
    ".toml": lambda text: [tomllib.loads(text)],
}


def _details(export: Path) -> Items:
    """The details of entries, by event; without those of a gateway, which a test wrote here."""
    details: dict[str, list[Shape]] = {}
    for entry in _json_lines(export.read_text(encoding="utf-8")):
        if "event" in entry and entry["room"] != "gateway":
            details.setdefault(entry["event"], []).append(shape(entry["details"]))
    return {
        name: text
        for event, shapes in details.items()
        for name, text in lines(f"details of {event}", merged(shapes)).items()
    }
