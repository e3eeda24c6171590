"""What may be registered where it is: files below folders, and tables on servers, that whoever runs this allowed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

from discreet.errors import DiscreetError
from discreet.sources.postgres.engine import SCHEMES, address, driver
from discreet.web.datasets.inspection import ENDINGS
from discreet.web.framework.problems import Problem

MOST_LISTED = 300
MOST_SEEN = 20_000
"""Names that are looked at for the list, so that a vast folder does not hold up its page."""
KEPT = ("host", "port", "user", "dbname", "sslmode")
"""What of an address is kept; nothing that names files, commands or further servers."""


def allowed_file(given: str, folders: Sequence[Path]) -> Path:
    """The file below one of the folders, without links and detours; all else gets the same answer."""
    for folder in folders:
        found = _below(given, folder)
        if found is not None:
            return found
    raise Problem(
        422,
        "There is no such file in the folders that are open here.",
        remedy="Give the path of a .csv, .csv.gz or .parquet file as the list shows it. Links and '..' are not followed. "
        "Whoever runs this server opens folders with --folder.",
    )


def _below(given: str, folder: Path) -> Path | None:
    try:
        base = folder.resolve(strict=True)
        place = Path(given)
        inner = place.relative_to(base if place.is_relative_to(base) else folder) if place.is_absolute() else place
        path = base / inner
        plain = ".." not in place.parts and not set("*?[]\0\n\r") & set(str(inner))
        real = path.resolve(strict=True)
        regular = stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return None
    named = path.name.lower().endswith(tuple(f".{ending}" for ending in ENDINGS))
    return path if plain and real == path and regular and named and path != base else None


def files_below(folders: Sequence[Path]) -> list[str]:
    """Files that may be registered, for a list to choose from; not more than a list can hold."""
    found = []
    for path in _walk(folders):
        found.append(path)
        if len(found) == MOST_LISTED:
            break
    return sorted(found)


def _walk(folders: Sequence[Path]) -> Iterator[str]:
    seen = 0
    for folder in folders:
        for place, inner, names in os.walk(folder.resolve(), followlinks=False):
            seen += len(names) + len(inner)
            if seen > MOST_SEEN:
                return
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            for name in sorted(names):
                path = str(Path(place, name))
                if not name.startswith(".") and allowed_or_none(path, folders):
                    yield path


def allowed_or_none(given: str, folders: Sequence[Path]) -> Path | None:
    """As `allowed_file`, without a problem."""
    try:
        return allowed_file(given, folders)
    except Problem:
        return None


@dataclass(frozen=True)
class ServerTable:
    """A table of a PostgreSQL server."""

    place: str
    """Its address without the password."""
    password: str | None = field(repr=False)

    def url(self) -> str:
        """Its address as it is read, with the password."""
        if self.password is None:
            return self.place
        return f"{self.place}&{urlencode({'password': self.password})}"


def server_table(given: str, table: str, password: str, servers: Sequence[str]) -> ServerTable:
    """A table on one of the servers that are open here. What names files, services or other servers is refused."""
    parts = _parts(given)
    host = f"{parts.get('host', '')}:{parts.get('port', '5432')}"
    if not {host, parts.get("host", "")} & set(servers) or not parts.get("host"):
        raise Problem(
            422,
            "That server is not open here.",
            remedy="Whoever runs this server opens others by name with --server HOST.",
        )
    if not table or len(table) > 200:
        raise Problem(422, "The name of the table is missing.", remedy="Give it as schema.table; a view will do, too.")
    secret = password or parts.pop("password", "") or None
    return ServerTable(_place({name: parts[name] for name in KEPT if name in parts}, table), secret)


def _place(kept: dict[str, str], table: str) -> str:
    """One way to write an address: a server by name before the path, a folder of sockets after it."""
    server = ""
    if not kept["host"].startswith("/"):
        user = f"{quote(kept.pop('user'), safe='')}@" if "user" in kept else ""
        port = f":{kept.pop('port')}" if "port" in kept else ""
        name = kept.pop("host")
        server = f"{user}{f'[{name}]' if ':' in name else quote(name, safe='')}{port}"
    return f"postgresql://{server}/{quote(kept.pop('dbname', ''), safe='')}?{urlencode({**kept, 'table': table})}"


def _parts(given: str) -> dict[str, str]:
    """The address as the server's own library takes it apart, so that there is one meaning of it only."""
    wrong = Problem(
        422, "That is not the address of a PostgreSQL database.", remedy="Write it as postgresql://user@host/database."
    )
    if not given.startswith(SCHEMES):
        raise wrong
    psycopg = driver()
    try:
        plain, ours = address(given)
        parts = {name: str(value) for name, value in psycopg.conninfo.conninfo_to_dict(plain).items()}
    except (psycopg.Error, ValueError, DiscreetError):
        raise wrong from None
    if ours or not set(parts) <= {*KEPT, "password"}:
        raise Problem(
            422,
            "The address says more than it should.",
            remedy=f"It may give {', '.join(KEPT)} and a password; the table has a field of its own.",
        )
    return parts
