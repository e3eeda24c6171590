"""Link files: strict, with the line of whatever is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import PolicyError
from discreet.linkage import LinkageSpec
from discreet.people.demo_files import LINK

NAMES = '[linkage]\n{}\n[linkage.identifying]\nfirst = {{ kind = "string" }}\nlast = {{ kind = "string" }}\nborn = {{ kind = "date" }}\n'


def parse(lines: str, more: str = "") -> LinkageSpec:
    return LinkageSpec.parse(NAMES.format(lines) + more)


def test_a_whole_file() -> None:
    spec = LinkageSpec.parse(LINK)
    assert spec.names == ("given_name", "surname", "birth_date", "sex", "zip", "national_id")
    assert spec.kinds["zip"] == "fixed"
    assert spec.swap == ("given_name", "surname")
    assert spec.attribute("birth_date").columns == ("birth_date", "born")
    assert spec.attribute("birth_date").formats == ("%Y-%m-%d", "%m/%d/%Y")
    assert [side.sensitive for side in spec.sides] == [("diagnosis", "visits"), ("plan", "income")]
    assert [side.id for side in spec.sides] == ["id", "id"]


def test_the_second_table_is_like_the_first_unless_said() -> None:
    spec = parse('id = "x"\nsensitive = ["ill"]\ndelimiter = ";"')
    assert spec.sides[0] == spec.sides[1]
    other = parse('id = "x"\nsensitive = ["ill"]', '[linkage.second]\nid = "y"\n')
    assert other.sides[1].sensitive == ("ill",)
    assert other.sides[1].id == "y"


def test_what_was_read_is_kept_and_gives_the_same_again() -> None:
    spec = LinkageSpec.parse(LINK)
    assert LinkageSpec.from_dict(spec.content) == spec


@pytest.mark.parametrize(
    ("lines", "more", "line", "words"),
    [
        ('idd = "x"', "", 2, "Did you mean 'id'"),
        ('case = "up"', "", 2, "upper, lower, keep"),
        ('swap = ["first", "born"]', "", 2, "'born' cannot be swapped"),
        ('swap = ["first", "first"]', "", 2, "cannot be swapped"),
        ('sensitive = ["born"]', "", 2, "two roles"),
        ('id = "last"', "", 2, "two roles"),
        ('sensitive = ["pseudonym"]', "", 2, "two roles"),
        ("", 'id = { kind = "fixd" }\n', 7, "Did you mean 'fixed'"),
        ("", 'other = { kind = "date", formats = ["%Y"] }\n', 7, "%Y, %m and %d once each"),
        ("", 'other = { kind = "string", formats = ["%Y%m%d"] }\n', 7, "has date formats"),
        ("", 'other = { kind = "string", format = "x" }\n', 7, "Did you mean 'formats'"),
        ("", '[linkage.second]\ncolumns = { middle = "x" }\n', 8, "no identifying attribute"),
        ("", '[linkage.second]\ncolumns = { first = "last" }\n', None, "two roles"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(lines: str, more: str, line: int | None, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse(lines, more)
    assert words in str(caught.value)
    assert line is None or caught.value.line == line


@pytest.mark.parametrize("text", ["", "[linkage]\n", "[linkage\n", '[linkage.identifying]\na = { kind = "date" }\n'])
def test_too_little_is_refused(text: str) -> None:
    with pytest.raises(PolicyError):
        LinkageSpec.parse(text)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no such link file"):
        LinkageSpec.load(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError, match="cannot be read"):
        LinkageSpec.load(tmp_path / "bad.toml")
