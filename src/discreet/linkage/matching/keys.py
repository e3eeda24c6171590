"""Keys of records: folded values, and parts of them that survive slips.

A key is an attribute (`surname`) or a part of one (`surname:sound`). Every key is a column of the table that Splink works
on: attribute 1 is `a1`, its sound `a1_sound`. Values are folded first: no accents, ä as ae or a, ß as ss, no hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.masking.comparison import Kind
from discreet.linkage.matching.phonetics import SHORT_FORMS, cologne, double_metaphone
from discreet.linkage.spec import LinkageSpec, Sounds
from discreet.sources.duckdb_scratch import quote, translated

PARTS: Mapping[Kind, Mapping[str, str]] = MappingProxyType(
    {
        "string": {"sound": "", "start": "left({}, 4)", "initial": "left({}, 1)"},
        "fixed": {"start": "left({}, 3)", "end": "right({}, 4)"},
        "date": {"year": "left({}, 4)", "month": "left({}, 7)", "birthday": "right({}, 5)"},
        "category": {},
    }
)
"""Per kind its parts as expressions of DuckDB; sounds are made here."""
WORDS = {"sound": "sound", "start": "first letters", "initial": "initial", "end": "last letters", "year": "year",
         "month": "year and month", "birthday": "day and month"}  # fmt: skip
LONG = "long"
"""The column of the long form of a given name."""


def keys_of(spec: LinkageSpec) -> list[str]:
    """All keys of the attributes of a link file.

    >>> keys_of(LinkageSpec.from_dict({"linkage": {"identifying": {"born": {"kind": "date"}, "sex": {"kind": "category"}}}}))
    ['born', 'born:year', 'born:month', 'born:birthday', 'sex']
    """
    return [
        key
        for attribute in spec.attributes
        for key in (attribute.name, *(f"{attribute.name}:{part}" for part in PARTS[attribute.kind]))
    ]


def attribute_of(key: str, spec: LinkageSpec) -> str:
    """The attribute of a key; an error names those there are."""
    name, _, part = key.rpartition(":") if key not in spec.names else (key, "", "")
    if name not in spec.names or (part and part not in PARTS[spec.kinds[name]]):
        raise UsageError(
            f"A rule names '{key}', which is no identifying attribute and no part of one.",
            remedy=f"Attributes and their parts are: {', '.join(keys_of(spec))}.",
        )
    return name


def column_of(key: str, spec: LinkageSpec) -> str:
    """The column of a key."""
    name = attribute_of(key, spec)
    place = f"a{spec.names.index(name)}"
    return place if key == name else f"{place}_{key.rpartition(':')[2]}"


def key_words(key: str, names: tuple[str, ...] | None = None) -> str:
    """A key for people.

    >>> key_words("surname:sound"), key_words("born")
    ('sound of surname', 'born')
    """
    name, _, part = key.rpartition(":")
    return f"{WORDS[part]} of {name}" if name and part in WORDS else key


def folded(cell: str, kind: Kind) -> str:
    """The expression of a folded value: what is compared, never shown."""
    if kind == "date":
        return cell
    plain = f"replace(replace(upper(strip_accents({cell})), 'ß', 'SS'), 'ẞ', 'SS')"
    if kind == "fixed":
        return f"nullif(regexp_replace({plain}, '[^\\p{{L}}\\p{{N}}]', '', 'g'), '')"
    if kind == "category":
        return plain
    joined = f"trim(regexp_replace(regexp_replace({plain}, '[''’.,]', '', 'g'), '[-\\s]+', ' ', 'g'))"
    return f"nullif(regexp_replace({joined}, '([AOU])E', '\\1', 'g'), '')"


def long_form(name: str) -> str:
    """The long form of the first word of a folded name.

    >>> long_form("BOB"), long_form("KATHE MARIA"), long_form("XAVER")
    ('ROBERT', 'KATHARINA', 'XAVER')
    """
    first = name.partition(" ")[0]
    return _FOLDED_FORMS.get(first, first)


_FOLDED_FORMS = {re.sub("([AOU])E", r"\1", short): re.sub("([AOU])E", r"\1", long) for short, long in SHORT_FORMS.items()}  # fmt: skip


def sound(name: str, sounds: Sounds) -> str | None:
    """The code of the first word of a folded name.

    >>> sound("SCHMIDT", "metaphone"), sound("MEYER LANSKY", "cologne")
    ('XMT', '67')
    """
    first = name.partition(" ")[0]
    return (cologne(first) if sounds == "cologne" else double_metaphone(first)[0]) or None


def create_tables(folder: ProjectFolder, connection: Any) -> None:
    """Create one table per imported table on DuckDB: records, folded attributes, and their parts."""
    spec = folder.spec
    strings = [place for place, attribute in enumerate(spec.attributes) if attribute.kind == "string"]
    with translated("the project"):
        for table in folder.tables:
            cells = ", ".join(
                f"{folded(quote(attribute.name), attribute.kind)} AS a{place}"
                for place, attribute in enumerate(spec.attributes)
            )
            scan = folder.scan("identifying", table)
            connection.execute(f"CREATE TEMP TABLE folded_{table} AS SELECT record AS unique_id, {cells} FROM {scan}")
        for place in strings:
            values = " UNION ".join(f"SELECT a{place} AS name FROM folded_{table}" for table in folder.tables)
            names = [
                name for (name,) in connection.execute(f"SELECT name FROM ({values}) WHERE name IS NOT NULL").fetchall()
            ]
            columns = {
                "name": names,
                "sound": [sound(name, spec.sounds) for name in names],
                LONG: [long_form(name) for name in names],
            }
            cast = ", ".join(f"CAST({key} AS VARCHAR) AS {key}" for key in columns)
            connection.register("handed", {key: np.array(column, dtype=object) for key, column in columns.items()})
            connection.execute(f"CREATE TEMP TABLE names_{place} AS SELECT DISTINCT {cast} FROM handed")
            connection.unregister("handed")
        for table in folder.tables:
            more = [f"n{place}.sound AS a{place}_sound, n{place}.{LONG} AS a{place}_{LONG}" for place in strings]
            more += [
                f"{expression.format(f't.a{place}')} AS a{place}_{part}"
                for place, attribute in enumerate(spec.attributes)
                for part, expression in PARTS[attribute.kind].items()
                if expression
            ]
            joins = "".join(f" LEFT JOIN names_{place} n{place} ON n{place}.name = t.a{place}" for place in strings)
            connection.execute(
                f"CREATE TABLE {table}_table AS SELECT t.*{''.join(', ' + one for one in more)} FROM folded_{table} t{joins}"
            )
            connection.execute(f"DROP TABLE folded_{table}")
