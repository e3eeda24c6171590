"""Encodings: bit for bit those of clkhash, and refused where they could be guessed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ColumnError, DataError, PolicyError, UsageError
from discreet.linkage import LinkageSpec
from discreet.linkage.matching.bloom_filter import ClkSchema, new_secret, read_secret, write_encodings

LINK = {"linkage": {"id": "id", "sensitive": ["illness"], "identifying": {
    "name": {"kind": "string"}, "born": {"kind": "date"}, "number": {"kind": "fixed"}, "sex": {"kind": "category"}}}}  # fmt: skip
SPEC = LinkageSpec.from_dict(LINK)
SECRET = b"0123456789abcdef" * 2
PEOPLE = [("MÜLLER", "1964-08-09", "001742682819", "F"), ("LEE", "1980-01-31", "5", "M")]


def feature(
    name: str, kind: str, comparison: dict[str, Any], strategy: dict[str, int], **hashing: Any
) -> dict[str, Any]:
    shape = {"type": kind, **({"format": "%Y-%m-%d"} if kind == "date" else {})}
    return {"identifier": name, "format": shape, "hashing": {"comparison": comparison, "strategy": strategy, **hashing}}


OTHER = {
    "version": 3,
    "clkConfig": {"l": 64, "kdf": {"type": "HKDF", "hash": "SHA512", "salt": "c2FsdA==", "info": "aW5mbw==", "keySize": 32}},
    "features": [
        feature("name", "string", {"type": "ngram", "n": 3}, {"bitsPerToken": 3},
                hash={"type": "doubleHash", "prevent_singularity": True}),
        {"identifier": "left", "ignored": True},
        feature("born", "date", {"type": "ngram", "n": 2, "positional": True}, {"bitsPerToken": 2}),
        feature("number", "integer", {"type": "ngram", "n": 1, "positional": True}, {"bitsPerFeature": 11},
                hash={"type": "doubleHash"}),
        feature("sex", "enum", {"type": "exact"}, {"bitsPerFeature": 5}),
    ],
}  # fmt: skip


def loaded(tmp_path: Path, content: Any) -> ClkSchema:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return ClkSchema.load(path, SPEC)


def test_encodings_are_those_of_clkhash(tmp_path: Path) -> None:
    """Computed with clkhash 0.18.3 for the same schemas, records and secret."""
    own = ClkSchema.of(SPEC).to_dict()
    own["clkConfig"]["l"] = 128
    assert loaded(tmp_path, own).encode(PEOPLE, SPEC.names, SECRET) == [
        "uImAlyyJoRwcE4QmMIAkGA==", "tlKUcg4yQQoLoSAlEaT0iA=="]  # fmt: skip
    assert loaded(tmp_path, OTHER).encode(PEOPLE, SPEC.names, SECRET) == ["7xrXMJfWfRU=", "f1iK7qrlGgQ="]


def test_a_schema_written_and_read_is_the_same(tmp_path: Path) -> None:
    assert loaded(tmp_path, ClkSchema.of(SPEC).to_dict()) == ClkSchema.of(SPEC)


def test_all_filters_have_about_as_many_bits() -> None:
    """Short names are hashed as often as long ones: the number of bits does not tell lengths."""
    names = ["LI", "ANNA", "BARTHOLOMEW FITZGERALD"]
    encoded = ClkSchema.of(SPEC).encode([(name, *PEOPLE[0][1:]) for name in names], SPEC.names, SECRET)
    bits = [int.from_bytes(base64.b64decode(text or ""), "big").bit_count() for text in encoded]
    assert max(bits) - min(bits) < 60
    assert len({len(text or "") for text in encoded}) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "another version"),
        ({"surprise": 1}, "surprise"),
        ({"clkConfig": {"l": 64, "xorFolds": 1, "kdf": {"type": "HKDF"}}}, "xor_folds"),
        ({"clkConfig": {"l": 96, "kdf": {"type": "HKDF"}}}, "power of two"),
        ({"clkConfig": {"l": 64, "kdf": {"type": "legacy"}}}, "HKDF"),
        ({"features": OTHER["features"][1:]}, "attributes of the link file"),
        ({"features": [feature("name", "string", {"type": "numeric"}, {"bitsPerToken": 3})]}, "ngram or exact"),
        ({"features": [feature("name", "string", {"type": "exact"}, {})]}, "bitsPerToken"),
        ({"features": [feature("name", "string", {"type": "exact"}, {"bitsPerToken": 1}, missingValue={})]}, "missingValue"),
        ({"features": 3}, "no linkage schema"),
    ],
)  # fmt: skip
def test_what_a_schema_must_not_say(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        loaded(tmp_path, {**OTHER, **change})


def table(tmp_path: Path, rows: str) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(f"id,name,born,number,sex,illness\n{rows}", encoding="utf-8")
    return path


def test_a_table_is_written_without_a_name(tmp_path: Path) -> None:
    source = table(tmp_path, "a1, Müller ,1964-08-09,001742682819,f,flu\na2,Lee,,,M,cold\na3,Ray,,,,\n")
    out = tmp_path / "clk.csv"
    done = write_encodings(source, SPEC, schema=ClkSchema.of(SPEC), secret=SECRET, out=out)
    assert (done.records, done.left_out) == (3, 1)
    lines = dict(line.split(",") for line in out.read_text(encoding="utf-8").split())
    assert lines["id"] == "clk"
    assert lines["a1"] == ClkSchema.of(SPEC).encode([("MULLER", *PEOPLE[0][1:])], SPEC.names, SECRET)[0]
    assert lines["a3"] == ""  # a surname alone would be told by its frequency
    assert out.stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="exists already"):
        write_encodings(source, SPEC, schema=ClkSchema.of(SPEC), secret=SECRET, out=out)


def test_records_need_ids_of_their_own(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"schema": ClkSchema.of(SPEC), "secret": SECRET, "out": tmp_path / "out.csv"}
    with pytest.raises(ColumnError, match="does not name every record"):
        write_encodings(table(tmp_path, "a1,Lee,,,M,\na1,Lee,,,F,\n"), SPEC, **settings)
    without = {"linkage": {name: part for name, part in LINK["linkage"].items() if name != "id"}}
    with pytest.raises(ColumnError, match="no column for ids"):
        write_encodings(table(tmp_path, "a1,Lee,,,M,\n"), LinkageSpec.from_dict(without), **settings)


def test_a_secret_nobody_guesses(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    assert len(new_secret(path)) == 64
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists already"):
        new_secret(path)
    path.chmod(0o644)
    with pytest.raises(UsageError, match="Other users"):
        read_secret(path)
    for weak in ("brief", "a" * 64):
        path.chmod(0o600)
        path.write_text(weak, encoding="ascii")
        with pytest.raises(DataError, match="too simple") as refused:
            read_secret(path)
        assert weak not in str(refused.value)
    with pytest.raises(UsageError, match="--new-secret"):
        read_secret(tmp_path / "none")
