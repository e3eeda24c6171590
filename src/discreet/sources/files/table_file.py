"""Table in a file, whatever the file is: the relation with which DuckDB reads it, and how it is written."""

from __future__ import annotations

import glob
import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import MissingExtra, SourceNotFound, SourceUnreadable
from discreet.policy import Policy
from discreet.sources.duckdb_scratch import PrivateFolder, connect, literal, quote, translated
from discreet.sources.files.archive import stream, unpacked
from discreet.sources.files.csv_dialect import CsvFile, check_header, csv_file
from discreet.sources.files.formats import CSV, HEAD, declared, format_of, recognised, unreadable
from discreet.sources.files.remote import fetched, is_remote, piped
from discreet.sources.files.typed_files import TypedColumn, labelled_columns, sheet_columns

HANDED = "handed"
"""What a frame is called on the connection."""
LOADED = "loaded"
"""The table that cells are loaded into."""
DEEPEST = 3
"""Archives inside each other."""
SPELT = ("DATE", "TIME", "TIMESTAMP", "UUID")
"""Types that DuckDB makes of texts in JSON; they stay texts, letter by letter."""


@dataclass(frozen=True)
class TableFile:
    """A file or several, as DuckDB reads them."""

    name: str
    relation: str
    dialect: Mapping[str, Any]
    """How it is written: its format, and what else had to be found out."""
    frame: Any = field(default=None, repr=False)
    """What the relation reads, if that is a frame of Arrow."""
    columns: Mapping[str, TypedColumn] | None = field(default=None, repr=False)
    """What becomes a table of this name, if the cells are Python values."""
    parquet: tuple[Path, ...] = ()
    origins: tuple[Path, ...] = ()
    """The files as they were given, which nothing may be written over."""


def table_file(source: str | Path, policy: Policy, folder: PrivateFolder) -> TableFile:
    """A file, a folder or pattern of files, `-` for standard input, or a URL."""
    given = str(source)
    if given == "-":
        return _one(piped(folder), "standard input", policy, folder)
    if "://" in given and is_remote(given):
        path, name = fetched(given, folder)
        return _one(path, name, policy, folder)
    path = Path(source)
    if path.is_file():
        return _one(path, path.name, policy, folder, origins=(path,))
    files = files_of(path)
    if not files and path.is_dir():
        raise SourceNotFound(
            f"There is no table in the folder {path}.",
            remedy="Put CSV files with the same header or Parquet files in it, or give one file.",
        )
    if not files:
        raise SourceNotFound(
            f"There is no file {path}.", remedy="Check the path; relative paths start at the current folder."
        )
    if len(files) == 1:
        return _one(files[0], files[0].name, policy, folder, origins=files)
    return _several(path.name, files, policy, folder)


def files_of(path: Path) -> tuple[Path, ...]:
    """The files that are read for a path: itself, or those of a folder or a pattern."""
    if not path.is_dir():
        return matching(path)
    parquet = matching(Path(glob.escape(str(path)), "**", "*.parquet"))
    return parquet or tuple(file for file in sorted(path.iterdir()) if file.is_file() and declared(file.name))


def matching(pattern: Path) -> tuple[Path, ...]:
    """The files of a pattern, in order; an existing name is no pattern."""
    if pattern.is_file():
        return (pattern,)
    found = (Path(name) for name in sorted(glob.glob(str(pattern), recursive=True)))  # noqa: PTH207 - absolute patterns
    return tuple(file for file in found if file.is_file())


def _one(path: Path, name: str, policy: Policy, folder: PrivateFolder, *, origins: tuple[Path, ...] = ()) -> TableFile:
    """One file, unpacked where it is packed."""
    inner, packed = name, []
    for _ in range(DEEPEST):
        kind = format_of(path, inner)
        if kind.reader != "packed":
            break
        packed.append(kind.name)
        if _is_text_in_gzip(path, inner):
            kind = CSV
            break
        path, inner = unpacked(path, inner, kind, folder)
    else:
        raise SourceUnreadable(
            f"{name} holds archives inside archives.", remedy="Unpack it, and give the table inside."
        )
    dialect: dict[str, Any] = {"format": kind.name, **({"packed": packed} if packed else {})}
    if kind.reader == "csv":
        return _csv(name, [_csv_file(path, name, policy, folder)], dialect, origins)
    if kind.reader == "parquet":
        return TableFile(name, f"read_parquet({literal(str(path))})", dialect, parquet=(path,), origins=origins)
    if kind.reader == "json":
        return TableFile(name, _json(path, name, policy, folder), dialect, origins=origins)
    if kind.reader == "arrow":
        return TableFile(name, HANDED, dialect, frame=_arrow(path, name), origins=origins)
    if kind.reader == "spreadsheet":
        sheet, columns = sheet_columns(path, name, kind, sheet=policy.sheet, declared=tuple(policy.roles))
        return TableFile(name, LOADED, {**dialect, "sheet": sheet}, columns=columns, origins=origins)
    about: dict[str, Any] = {"encoding": policy.encoding, "declared": tuple(policy.roles)}
    labelled, columns = labelled_columns(path, name, kind, labels=policy.labels, **about)
    return TableFile(name, LOADED, {**dialect, "labelled": labelled}, columns=columns, origins=origins)


def load(connection: Any, columns: Mapping[str, TypedColumn], name: str) -> None:
    """Make the table that a spreadsheet or a file of a statistics package becomes, its rows in order."""
    places = {f"c{place}": column for place, column in enumerate(columns.values())}
    cells = [
        f"{column.select(place)} AS {quote(title)}"
        for (place, column), title in zip(places.items(), columns, strict=True)
    ]
    connection.register(LOADED + "_cells", {place: column.cells for place, column in places.items()})
    with translated(name):
        connection.execute("SET preserve_insertion_order = true")
        connection.execute(f"CREATE TABLE {LOADED} AS SELECT {', '.join(cells)} FROM {LOADED}_cells")
        connection.execute("SET preserve_insertion_order = false")
    connection.unregister(LOADED + "_cells")


def _is_text_in_gzip(path: Path, name: str) -> bool:
    """Whether DuckDB can read the CSV as it is, without a copy."""
    kind = declared(path.name)
    if kind is None or kind.name != "gzip":
        return False
    with stream(path, name, kind) as (file, inner):
        head = file.read(HEAD)
    return declared(inner) in (CSV, None) and recognised(head, path, inner) is None


def _several(name: str, files: Sequence[Path], policy: Policy, folder: PrivateFolder) -> TableFile:
    """Files of one format under one name: CSV with the same header, or Parquet."""
    name = f"{name} ({len(files)} files)"
    formats = {file: format_of(file, file.name) for file in files}
    names, about = [file.name for file in files], tuple(files)
    odd = next((file for file in files if formats[file] is not formats[files[0]]), None)
    if odd is not None:
        raise SourceUnreadable(
            f"{name} are of several kinds: {odd.name} is another one than {files[0].name}.",
            remedy="Give one file, or a pattern such as part-*.csv for files of one kind.",
        )
    kind = formats[files[0]]
    dialect = {"format": kind.name, "files": names}
    if kind.reader == "parquet":
        listed = ", ".join(literal(str(file)) for file in files)
        return TableFile(name, f"read_parquet([{listed}])", dialect, parquet=about, origins=about)
    plain = [(file, file.name) for file in files]
    if kind.reader == "packed":
        plain = [unpacked(file, file.name, kind, folder) for file in files]
    if any(format_of(path, inner) is not CSV for path, inner in plain):
        raise SourceUnreadable(
            f"{name} are read one at a time: only CSV and Parquet may be in parts.",
            remedy=f"Give one of them: {', '.join(names[:10])}.",
        )
    parts = [_csv_file(path, file.name, policy, folder) for (path, _), file in zip(plain, files, strict=True)]
    for part in parts[1:]:
        part.refuse_other(parts[0])
    return _csv(name, parts, dialect, about)


def _csv_file(path: Path, name: str, policy: Policy, folder: PrivateFolder) -> CsvFile:
    how = {"delimiter": policy.delimiter, "encoding": policy.encoding}
    return csv_file(path, name, folder, declared=tuple(policy.roles), **how)


def _csv(name: str, parts: Sequence[CsvFile], dialect: dict[str, Any], origins: tuple[Path, ...]) -> TableFile:
    first = parts[0]
    files = ", ".join(literal(str(part.path)) for part in parts)
    columns = ", ".join(f"{literal(title)}: 'VARCHAR'" for title in first.header)
    packed = ", compression = 'gzip'" if first.path.name.lower().endswith(".gz") else ""
    options = "header = true, quote = '\"', escape = '\"', nullstr = '', auto_detect = false, strict_mode = true"
    scan = f"read_csv([{files}], delim = {literal(first.delimiter)}, {options}, columns = {{{columns}}}{packed})"
    codes = dict.fromkeys(part.encoding for part in parts)
    found = {"encoding": ", ".join(codes), "delimiter": first.delimiter}
    return TableFile(name, scan, {**dialect, **found}, origins=origins)


def _json(path: Path, name: str, policy: Policy, folder: PrivateFolder) -> str:
    """Objects, one a line; every line is looked at for its keys and their types."""
    with path.open("rb") as file:
        if file.read(3) == b"\xef\xbb\xbf":  # DuckDB takes no byte order mark here
            path = folder.file(name)
            path.write_bytes(file.read())
    scan = f"read_json({literal(str(path))}, format = 'newline_delimited', records = true"
    try:
        with translated(name), connect() as connection:
            described = connection.execute(f"DESCRIBE SELECT * FROM {scan}, sample_size = -1)").fetchall()
    except SourceUnreadable:
        _refuse_broken_line(path, name)
        raise
    types = {row[0]: "VARCHAR" if row[1].startswith(SPELT) else row[1] for row in described}
    check_header(list(types), name, declared=(*types, *policy.roles))
    columns = ", ".join(f"{literal(title)}: {literal(kind)}" for title, kind in types.items())
    return f"{scan}, columns = {{{columns}}})"


def _refuse_broken_line(path: Path, name: str) -> None:
    """Stop with the number of the first line that is no object; DuckDB does not name it reliably."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                broken = bool(line.strip()) and not isinstance(json.loads(line), dict)
            except UnicodeDecodeError:
                return
            except (ValueError, RecursionError):
                broken = True
            if broken:
                raise SourceUnreadable(
                    f"Line {number} of {name} is no JSON object.", remedy="Write one object on each line."
                ) from None


def _arrow(path: Path, name: str) -> Any:
    """A Feather file, or a file or stream of Arrow."""
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("formats", needed_for="A Feather or Arrow file")
    import pyarrow

    try:
        with path.open("rb") as file:
            streamed = file.read(4) == b"\xff\xff\xff\xff"
        if streamed:
            with pyarrow.memory_map(str(path)) as source:
                return pyarrow.ipc.open_stream(source).read_all()
        from pyarrow import feather

        return feather.read_table(path, memory_map=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise unreadable(name, error) from None
