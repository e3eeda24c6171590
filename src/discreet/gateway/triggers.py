"""Triggers: writing to some tables runs code that reads governed ones, and what it reads can be given back."""

from __future__ import annotations

from typing import Any

from discreet.sql.lexer import Statement, Unreadable, lexed

TRIGGERS = """
SELECT DISTINCT c.relname::text, p.proname::text, l.lanname::text, p.prosrc
  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
  JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid JOIN pg_catalog.pg_language l ON l.oid = p.prolang
 WHERE NOT t.tgisinternal AND NOT c.oid = ANY(%s::oid[])"""
RULES = """
SELECT DISTINCT c.relname::text, r.rulename::text FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
 WHERE r.ev_type <> '1' AND c.relnamespace <> 'pg_catalog'::pg_catalog.regnamespace"""
"""Rules for anything but reading, which is what views are made of."""
READABLE = frozenset(("sql", "plpgsql"))


def triggered(cursor: Any, governed: list[int], names: frozenset[str], untrusted: frozenset[str]) -> dict[str, str]:
    """Per name of a table the function or rule that writing to it runs, where that may read governed tables (`names`)."""
    found = cursor.execute(TRIGGERS, [governed]).fetchall()
    return dict(cursor.execute(RULES).fetchall()) | {
        table: function
        for table, function, language, source in found
        if function in untrusted and not _is_harmless(language, source, names, untrusted)
    }


def _is_harmless(language: str, source: str, names: frozenset[str], untrusted: frozenset[str]) -> bool:
    """Whether its text names no governed table, runs no other text, and calls nothing that might."""
    if language not in READABLE:
        return False
    try:
        body = Statement(tuple(lexed(source)))
    except Unreadable:
        return False
    return not (body.names & names or "execute" in body.names or body.calls & untrusted)
