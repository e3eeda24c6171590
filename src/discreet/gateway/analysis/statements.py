"""What a text asks for: a query, a cursor, a copy, or nothing that the gateway answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from discreet.sql.fragment import NotCovered, Table, walk
from discreet.sql.lexer import Statement, Token, Unreadable, statements
from discreet.sql.parser import LONGEST, parse_query

QUERIES = frozenset(("select", "with", "values", "table"))
WRITES = frozenset(("insert", "update", "delete", "merge", "copy", "truncate"))


@dataclass(frozen=True)
class CopyForm:
    """How COPY writes rows."""

    format: str = "text"
    """text, csv or binary."""
    header: bool = False
    delimiter: str = ""
    null: str | None = None


@dataclass(frozen=True, eq=False)
class AskedStatement:
    """One statement, as far as the gateway needs to know it."""

    kind: str
    """query, declare, fetch, close, copy, show, several, or other."""
    tree: Any = None
    problem: NotCovered | None = None
    """Why there is no tree of a query."""
    names: frozenset[tuple[str, str]] = frozenset()
    """Relations that it names, by schema (empty if none is written) and name."""
    mentions: frozenset[str] = frozenset()
    """Every word that may be the name of a relation."""
    name: str = ""
    """Of a cursor, or of what is shown."""
    count: int | None = None
    """Rows to fetch; None for all."""
    form: CopyForm = CopyForm()
    hold: bool = False
    writes: bool = False


@lru_cache(maxsize=512)
def asked(text: str) -> AskedStatement:
    """What a text asks for."""
    try:
        found = statements(text)
    except Unreadable:
        return AskedStatement("other", mentions=_words(text))
    if len(found) != 1:
        every = [_one(one) for one in found]
        mentions = frozenset().union(*(one.mentions for one in every))
        queries = [one for one in every if one.kind in ("query", "declare", "copy")]
        names = frozenset().union(*(one.names for one in queries))
        return AskedStatement(
            "several" if queries else "other", names=names, mentions=mentions, writes=any(o.writes for o in every)
        )
    return _one(found[0])


def _words(text: str) -> frozenset[str]:
    """Words of a text that cannot be read as SQL."""
    return frozenset("".join(c if c.isalnum() or c == "_" else " " for c in text).casefold().split()[:10_000])


def _one(statement: Statement) -> AskedStatement:
    tokens, verb, mentions = statement.tokens, statement.verb, statement.names
    if verb in QUERIES:
        return _query("query", tokens, mentions)
    words = [token.name if token.kind in ("word", "quoted") else token.text for token in tokens]
    if verb == "declare" and "for" in words:
        begin = words.index("for")
        options = words[2:begin]
        if "binary" in options or ("scroll" in options and "no" not in options):
            return AskedStatement("other", mentions=mentions)
        found = _query("declare", tokens[begin + 1 :], mentions)
        return replace(found, name=words[1], hold="hold" in options and "without" not in options)
    if verb == "copy" and len(tokens) > 1 and tokens[1].text == "(":
        return _copy(tokens, mentions)
    if verb in ("fetch", "move") and len(words) > 1:
        return _fetch(verb, words[1:], mentions)
    if verb == "close" and len(words) == 2:
        return AskedStatement("close", mentions=mentions, name=words[1])
    if verb == "show" and words[1:3] == ["discreet", "."] and len(words) == 4:
        return AskedStatement("show", name=words[3])
    writes = verb in WRITES or (verb == "with" and bool(WRITES & mentions))
    return AskedStatement("other", mentions=mentions, writes=writes)


def _query(kind: str, tokens: tuple[Token, ...], mentions: frozenset[str]) -> AskedStatement:
    writes = bool(WRITES & {token.name for token in tokens if token.kind == "word"})
    try:
        tree = parse_query(list(tokens))
    except NotCovered as problem:
        return AskedStatement(kind, None, problem, frozenset(_behind_from(tokens)), mentions, writes=writes)
    names = frozenset((one.schema, one.name) for one in walk(tree) if isinstance(one, Table))
    return AskedStatement(kind, tree, None, names, mentions)


def _behind_from(tokens: tuple[Token, ...]) -> Iterable[tuple[str, str]]:
    """Names that may be relations of a query that could not be read: those behind FROM, JOIN, a comma and the like."""
    for place, token in enumerate(tokens[:LONGEST]):
        if not token.name:
            continue
        before = tokens[place - 1].text.casefold() if place else ""
        if before == "." and place > 1 and tokens[place - 2].name:
            yield tokens[place - 2].name, token.name
        elif before in ("from", "join", ",", "only", "table", "(", "into", "update", "using"):
            yield "", token.name


def _copy(tokens: tuple[Token, ...], mentions: frozenset[str]) -> AskedStatement:
    depth = end = 0
    for place, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if token.text == ")" and depth == 0:
            end = place
            break
    rest = [token.name or token.text for token in tokens[end + 1 :]]
    found = _query("copy", tokens[2:end], mentions)
    if rest[:2] != ["to", "stdout"]:
        return AskedStatement("other", mentions=mentions)
    form = _copy_form([word for word in rest[2:] if word not in ("with", "(", ")", ",", "as")])
    if form is None:
        problem = NotCovered("COPY with these options", "use FORMAT text, csv or binary, HEADER, DELIMITER and NULL")
        return replace(found, tree=None, problem=problem)
    return replace(found, form=form)


def _copy_form(options: list[str]) -> CopyForm | None:
    """What options of COPY say; None if there are others."""
    form, waiting = CopyForm(), options[::-1]
    while waiting:
        word = waiting.pop()
        if word == "format" and waiting and waiting[-1] in ("text", "csv", "binary"):
            continue
        if word in ("text", "csv", "binary"):
            form = replace(form, format=word)
        elif word == "header":
            said = waiting.pop() if waiting and waiting[-1] in ("true", "false", "on", "off", "1", "0") else "true"
            form = replace(form, header=said in ("true", "on", "1"))
        elif word in ("delimiter", "null", "encoding") and waiting and waiting[-1].startswith("'"):
            value = waiting.pop()[1:-1].replace("''", "'")
            if word == "encoding" and value.casefold() not in ("utf8", "utf-8"):
                return None
            if word == "delimiter" and (len(value.encode()) != 1 or value in '\\"' or value.isalnum()):
                return None
            if "\r" in value or "\n" in value:
                return None
            form = replace(form, delimiter=value) if word == "delimiter" else form
            form = replace(form, null=value) if word == "null" else form
        else:
            return None
    return None if form.format == "binary" and form != CopyForm("binary") else form


def _fetch(verb: str, words: list[str], mentions: frozenset[str]) -> AskedStatement:
    count: int | None = 1
    name = words[-1]
    options = [word for word in words[:-1] if word not in ("from", "in")]
    if options:
        if options[0] in ("forward", "next"):
            options = options[1:]
        if options and options[0] == "all":
            count, options = None, options[1:]
        elif options and options[0].isdigit():
            count, options = int(options[0]), options[1:]
    if options or verb == "move":
        return AskedStatement("fetch", mentions=mentions, name=name, count=-1)
    return AskedStatement("fetch", mentions=mentions, name=name, count=count)
