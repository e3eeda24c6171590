"""Texts are read as the server reads them, or not at all."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.sql.lexer import Unreadable, lexed, statements
from tests.examples import examples

READ = {
    "SELECT 1 /* a /* b */ c */ + 2": "SELECT 1 + 2",
    "SELECT 'it''s' -- rest": "SELECT 'it''s'",
    "SELECT $tag$ a $$ b $tag$": "SELECT ' a $$ b '",
    "SELECT E'a\\'b\\n\\x41\\u00e9'": "SELECT 'a''b\nA\u00e9'",
    "SELECT 'a'  \n 'b'": "SELECT 'ab'",
    'SELECT "A ""b"""': 'SELECT "A ""b"""',
    "SELECT $1, x::int[1:2]": "SELECT $1 , x :: int [ 1 : 2 ]",
    "SELECT 1--2\n+3": "SELECT 1 + 3",
    "SELECT a->>'b' @> '{}'": "SELECT a ->> 'b' @> '{}'",
}
UNREAD = [
    "SELECT 'open",
    "SELECT /* open",
    "SELECT $a$ open $b$",
    'SELECT U&"d\\0061"',
    "SELECT U&'d'",
    "SELECT a$b$c",
    "SELECT E'\\xff'",
    "SELECT 12abc",
    "SELECT 'a' 'b'",
    "SELECT \\x",
    "SELECT a\x00b",
    "SELECT " + "x" * 64,
]


@pytest.mark.parametrize("text", list(READ))
def test_a_text_is_written_plainly(text: str) -> None:
    assert " ".join(one.text for one in statements(text)) == READ[text]


@pytest.mark.parametrize("text", UNREAD)
def test_what_could_be_read_otherwise_is_not_read(text: str) -> None:
    with pytest.raises(Unreadable):
        lexed(text)


def test_names_are_folded_as_the_server_folds_them() -> None:
    (one,) = statements('SELECT Name, "Name", äö, "ÄÖ" FROM People')
    assert one.names == {"select", "name", "Name", "äö", "ÄÖ", "from", "people"}


@pytest.mark.parametrize(
    "text", ["''\n$$$$", "$$a$$\n'b'", "E'a'\n'b'", "'a'\nE'b'", "'a'\nN'b'", "B'0'\n'1'", r"E'x'" + "\n" + r"'a\' , '"]
)
def test_only_plain_strings_go_on_in_the_next_line(text: str) -> None:
    with pytest.raises(Unreadable):
        statements(f"SELECT {text}")


def test_whether_other_letters_are_folded_depends_on_the_server() -> None:
    with pytest.raises(Unreadable):
        statements("SELECT ÄÖ FROM people")


@pytest.mark.parametrize(
    ("text", "operators"), [("1===-1", {"===", "-"}), ("1 @-1", {"@-"}), ("1=- -1", {"=", "-"}), ("1=~=-1", {"=~=-"})]
)
def test_operators_end_where_the_server_ends_them(text: str, operators: set[str]) -> None:
    (one,) = statements(f"SELECT {text}")
    assert one.operators == operators


def test_calls_are_names_before_parentheses_and_behind_dots() -> None:
    (one,) = statements("SELECT f (1), a.g, b.h(2), c FROM t")
    assert one.calls == {"f", "g", "h"}


PIECES = st.sampled_from(
    [
        "'",
        '"',
        "$$",
        "$a$",
        "/*",
        "*/",
        "--",
        "\n",
        " ",
        "a",
        "1",
        "E'",
        "\\",
        "''",
        ";",
        "x",
        "+",
        "(",
        ")",
        "b1",
        "$1",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
@settings(max_examples=examples(300), deadline=None)
@pytest.mark.postgres
def test_the_server_sees_the_same_words(postgres_url: str, text: str) -> None:
    """Whatever we read, the server reads as well: written plainly, the text is the same to it."""
    try:
        found = statements(f"SELECT {text}")
    except Unreadable:
        return
    plain = "; ".join(one.text for one in found)
    assert _answer(postgres_url, f"SELECT {text}") == _answer(postgres_url, plain)


_LINKS: dict[str, Any] = {}


def _answer(url: str, text: str) -> Any:
    link = _LINKS.get(url)
    if link is None:
        link = _LINKS[url] = psycopg.connect(url, autocommit=True)
    try:
        cursor = link.execute(text.encode())
        found = []
        while True:
            found.append(cursor.fetchall() if cursor.description else cursor.statusmessage)
            if not cursor.nextset():
                return found
    except psycopg.Error as problem:
        return problem.sqlstate


@pytest.fixture(scope="module", autouse=True)
def close_links() -> Any:
    yield
    for link in _LINKS.values():
        link.close()
    _LINKS.clear()
