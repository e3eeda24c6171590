"""Sounds, short forms and folded values, and relatives whom they do not join."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.linkage import DuckDBBackend, LinkageSpec, start_project
from discreet.linkage.matching.keys import key_words, keys_of, long_form
from discreet.linkage.matching.phonetics import cologne, double_metaphone

PUBLISHED = {
    "Smith": ("SM0", "XMT"), "Schmidt": ("XMT", "SMT"), "Catherine": ("K0RN", "KTRN"), "Richard": ("RXRT", "RKRT"),
    "Michael": ("MKL", "MXL"), "Caesar": ("SSR", "SSR"), "Jose": ("HS", "HS"), "Dumb": ("TM", "TM"), "Xavier": ("SF", "SFR"),
    "Filipowicz": ("FLPT", "FLPF"), "Gough": ("KF", "KF"), "Laugh": ("LF", "LF"), "Cabrillo": ("KPRL", "KPR"),
    "Gallegos": ("KLKS", "KKS"), "Wasserman": ("ASRM", "FSRM"), "McClellan": ("MKLL", "MKLL"), "Bajador": ("PJTR", "PHTR"),
    "Rogier": ("RJ", "RJR"), "Breaux": ("PR", "PR"), "Cagney": ("KKN", "KKN"), "Thomas": ("TMS", "TMS"),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_double_metaphone_gives_the_published_codes(name: str) -> None:
    assert double_metaphone(name) == PUBLISHED[name]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Müller-Lüdenscheidt", "65752682"),
        ("Wikipedia", "3412"),
        ("Breschnew", "17863"),
        ("Meier", "67"),
        ("Mayr", "67"),
    ],
)
def test_cologne_gives_the_published_codes(name: str, code: str) -> None:
    assert cologne(name) == code


@given(st.text(max_size=12))
def test_every_text_has_codes(name: str) -> None:
    assert all(len(code) <= 4 for code in double_metaphone(name))
    assert set(cologne(name)) <= set("0123456789")


def test_short_forms_lead_to_one_long_form() -> None:
    assert {long_form(name) for name in ("BOB", "ROB", "ROBERT", "BOBBY MARIE")} == {"ROBERT"}
    assert long_form("GRETE") == long_form("MARGARET")


def test_values_are_folded_before_they_are_compared(tmp_path: Path) -> None:
    spec = LinkageSpec.from_dict({"linkage": {"identifying": {
        "name": {"kind": "string"}, "no": {"kind": "fixed"}, "born": {"kind": "date"}}}})  # fmt: skip
    names = ["Müller", "MUELLER", "Muller", "Weiß", "Weiss", "Anne-Marie O'Neil", "Anne Marie ONeil", None]
    rows = pyarrow.table({"name": names, "no": ["12-34.5", "12345", None, *["9"] * 5], "born": ["1980-02-01"] * 8})
    connection = DuckDBBackend(start_project(tmp_path / "p", rows, spec=spec, key=b"k")).connection
    found = connection.execute("SELECT a0, a0_sound, a1, a2_year, a2_birthday FROM first_table").fetchall()
    assert sorted({row[0] for row in found if row[0]}) == ["ANNE MARIE ONEIL", "MULLER", "WEISS"]
    assert {row[1] for row in found} == {"MLR", "AS", "AN", None}
    assert {row[2] for row in found} == {"12345", "9", None}
    assert {row[3:] for row in found} == {("1980", "02-01")}
    assert "name:sound" in keys_of(spec)
    assert key_words("name:initial") == "initial of name"
