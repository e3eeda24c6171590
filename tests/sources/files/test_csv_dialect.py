"""Encodings are found by what letters spell, and line ends, NUL bytes and bad bytes by looking at every byte."""

from __future__ import annotations

import io

import pytest

from discreet.errors import ColumnError, SourceUnreadable
from discreet.sources.files.csv_dialect import check_header, examined

TEXTS = {
    "German": "name;ort\nMüller;Köln\nGroß;Düsseldorf\n",
    "French": "nom;ville\nHélène;Orléans\nFrançois;Besançon\nGaëlle;Nîmes\n",
    "Italian": "nome;citta\nNicolò;Forlì\nMosè;Cefalù\n",
    "Spanish": "nombre;ciudad\nMuñoz;Málaga\nGüell;Cádiz\n",
    "Portuguese": "nome;cidade\nJoão;São Paulo\nConceição;Évora\n",
    "Swedish": "namn;ort\nÅsa;Malmö\nBjörn;Göteborg\n",
    "Danish": "navn;by\nSøren;Århus\nKjær;Ærø\n",
    "Polish": "imie;miasto\nŁukasz;Łódź\nMichał;Kraków\nŻaneta;Świętochłowice\n",
    "Czech": "jmeno;mesto\nJiří;Plzeň\nŠárka;Brno\nDvořák;České Budějovice\n",
    "Hungarian": "nev;varos\nGyőző;Pécs\nSzűcs;Erdőd\n",
    "Russian": "имя;город\nИван;Москва\nОльга;Казань\n",
    "Greek": "όνομα;πόλη\nΓιώργος;Αθήνα\n",
    "Turkish": "ad;sehir\nGökçe;İzmir\nAyşe;Muğla\n",
}
ENCODINGS = {
    "utf-8": TEXTS,
    "utf-8-sig": TEXTS,
    "utf-16": TEXTS,
    "utf-16-le": TEXTS,
    "utf-16-be": TEXTS,
    "utf-32": TEXTS,
    "cp1252": ("German", "French", "Italian", "Spanish", "Portuguese", "Swedish", "Danish"),
    "latin-1": ("German", "French", "Italian", "Spanish", "Portuguese", "Swedish", "Danish"),
    "cp1250": ("German", "Polish", "Czech", "Hungarian"),
    "iso-8859-2": ("German", "Polish", "Czech", "Hungarian"),
    "cp1251": ("Russian",),
    "koi8-r": ("Russian",),
    "cp1253": ("Greek",),
    "cp1254": ("Turkish",),
    "cp850": ("German", "French", "Spanish", "Swedish", "Danish"),
    "cp852": ("Polish", "Czech"),
    "mac-roman": ("German", "French", "Spanish", "Swedish"),
}


@pytest.mark.parametrize(
    ("code", "language"), [(code, each) for code, several in ENCODINGS.items() for each in several]
)
def test_a_table_in_an_encoding_of_its_country_is_read_letter_by_letter(code: str, language: str) -> None:
    written = TEXTS[language].encode(code)
    found = examined(io.BytesIO(written), "a.csv", encoding=None).encoding
    assert written.decode(found).lstrip("\ufeff") == TEXTS[language]


def test_letters_far_down_a_file_are_found() -> None:
    written = b"name;age\n" + b"n;1\n" * 600_000 + "Müller;3\n".encode("latin-1")
    assert examined(io.BytesIO(written), "a.csv", encoding=None).encoding == "cp1252"
    with pytest.raises(SourceUnreadable, match=r"Line 600002 of a\.csv is not written in utf-8"):
        examined(io.BytesIO(written), "a.csv", encoding="utf-8")


def test_a_letter_across_two_blocks_is_whole() -> None:
    written = b"a" * (2**20 - 1) + "ü\n".encode()
    assert examined(io.BytesIO(written), "a.csv", encoding=None).encoding == "utf-8"
    with pytest.raises(SourceUnreadable, match="not written in UTF-8"):
        examined(io.BytesIO(b"a" * 100 + "ü".encode()[:1]), "a.csv", encoding=None)


def test_an_encoding_that_no_letters_show_has_to_be_named() -> None:
    with pytest.raises(SourceUnreadable, match="encoding"):
        examined(io.BytesIO("名前;市\n田中;東京\n鈴木;大阪\n".encode("shift_jis")), "a.csv", encoding=None)
    assert examined(io.BytesIO(b"x"), "a.csv", encoding="shift_jis").encoding == "shift_jis"


def test_a_nul_byte_has_its_line() -> None:
    with pytest.raises(SourceUnreadable, match=r"Line 3 of a\.csv holds a NUL byte"):
        examined(io.BytesIO(b"a;b\n1;2\n3\0;4\n"), "a.csv", encoding=None)


@pytest.mark.parametrize(
    ("text", "mixed"), [(b"a\nb\n", False), (b"a\r\nb\r\n", False), (b"a\rb\r", False), (b"a\r\nb\n", True)]
)
def test_lines_that_end_in_several_ways_are_noticed(text: bytes, mixed: bool) -> None:
    assert examined(io.BytesIO(text), "a.csv", encoding=None).mixed is mixed


def test_a_line_end_across_two_blocks_is_one() -> None:
    text = b"a" * (2**20 - 1) + b"\r\nb\r\n"
    assert not examined(io.BytesIO(text), "a.csv", encoding=None).mixed


@pytest.mark.parametrize("declared", ["cp1252", "latin-1", "iso-8859-2", "koi8-r"])
@pytest.mark.parametrize("language", TEXTS)
def test_what_is_utf_8_throughout_is_read_so_whatever_is_declared(declared: str, language: str) -> None:
    """As the tables that Discreet writes, measured by the policy of their source."""
    assert examined(io.BytesIO(TEXTS[language].encode()), "a.csv", encoding=declared).encoding == "utf-8"


@pytest.mark.parametrize("language", ENCODINGS["cp1252"])
def test_what_is_declared_is_believed_where_the_letters_are_not_utf_8(language: str) -> None:
    for declared in ("cp1252", "latin-1"):
        assert examined(io.BytesIO(TEXTS[language].encode(declared)), "a.csv", encoding=declared).encoding == declared


@pytest.mark.parametrize("record", ["F;Ulm;", "F;;Ulm", "17;F;", "Anna;17;"])
def test_a_record_in_the_place_of_a_header_is_named_even_with_empty_cells(record: str) -> None:
    rows = [[*record.split(";")] for _ in range(3)]
    with pytest.raises(ColumnError, match="looks like a record, not a header"):
        check_header(rows[0], "a.csv", rows=[["M", "Bonn", "ja"], ["F", "Ulm", "nein"], ["M", "M", "Ulm"]])
