"""A manifest comes back as it was, and nothing but its key opens it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import IntegrityError, StoreTooNew, UsageError
from discreet.kernel import (
    AnyValue,
    AutoMask,
    Classes,
    Cuts,
    Dates,
    Flat,
    Mask,
    Prefix,
    Rule,
    TopBottomCode,
    Tree,
    Widths,
)
from discreet.releases import manifest as manifest_form
from discreet.releases import serialise as sealed_form
from discreet.releases.manifest import Manifest, fingerprint
from discreet.releases.manifest import digest as manifest_digest
from discreet.releases.marks.codebook import Codebook
from discreet.releases.serialise import read_rule, write_rule
from tests.examples import examples
from tests.releases.made import KEY, draft
from tests.releases.world import town

RULES = [
    Flat(),
    Mask(5),
    Widths((2, 4)),
    Widths((2, 4), decimal=","),
    AutoMask(7),
    Prefix((3, 1)),
    Cuts((0, 18.5)),
    TopBottomCode(90, 15.5, (5, 10)),
    TopBottomCode(top=90, decimal=","),
    AnyValue("Person"),
    Dates(("month", "year")),
    Dates(("year",), "%d.%m.%Y"),
    Tree((("a", "x", "*"), ("b", "x", "*")), "letters.csv"),
]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return draft(town(tmp_path_factory.mktemp("town"), zips=5, years=4), ["ann", "bob"])


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_come_back(rule: Rule) -> None:
    assert read_rule(write_rule(rule)) == rule


def test_a_rule_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_rule(object())  # type: ignore[arg-type]


@given(st.lists(st.integers(-(2**62), 2**62)), st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1))
def test_arrays_come_back(numbers: list[int], flags: list[list[bool]]) -> None:
    assert sealed_form.unpack_ints(sealed_form.pack_ints(np.array(numbers, dtype=np.int64))).tolist() == numbers
    assert sealed_form.unpack_flags(sealed_form.pack_flags(np.array(flags))).tolist() == flags


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["12", "13", "27", None]), st.sampled_from(["F", "M"])), min_size=1))
def test_classes_come_back_with_their_coarser_levels(people: list[tuple[str | None, str]]) -> None:
    rules: dict[str, Rule] = {"zip": Mask(2), "sex": AnyValue()}
    classes = Classes.of(["zip", "sex"], people, rules=rules).at({"zip": 1})
    again = sealed_form.unpack_classes(sealed_form.pack_classes(classes))
    assert (list(again.tuples()), again.sizes.tolist(), again.levels) == (
        list(classes.tuples()),
        classes.sizes.tolist(),
        classes.levels,
    )
    top = {"zip": 2, "sex": 1}
    assert list(again.at(top).tuples()) == list(classes.at(top).tuples())


def test_a_manifest_comes_back_as_it_was(manifest: Manifest) -> None:
    again = Manifest.from_bytes(manifest.to_bytes())
    assert again.to_bytes() == manifest.to_bytes()
    assert again.levels == manifest.levels
    assert again.rules == dict(manifest.rules)
    assert again.codebook.marks.labels == manifest.codebook.marks.labels
    assert (again.codebook.present == manifest.codebook.present).all()
    assert (again.codebook.probabilities == manifest.codebook.probabilities).all()
    assert again.gates == manifest.gates
    assert list(again.released.tuples()) == list(manifest.released.tuples())


def test_sealed_bytes_are_the_same_each_time_and_tell_nothing(manifest: Manifest) -> None:
    sealed = manifest.seal(key=KEY)
    assert sealed == manifest.seal(key=KEY)
    assert b"ann" not in sealed
    assert Manifest.unseal(sealed, key=KEY).to_bytes() == manifest.to_bytes()
    assert manifest_digest(sealed) != manifest_digest(replace(manifest, revision=1).seal(key=KEY))


def test_another_key_opens_nothing(manifest: Manifest) -> None:
    with pytest.raises(IntegrityError, match="another key"):
        Manifest.unseal(manifest.seal(key=KEY), key=bytes(32))


def test_any_changed_byte_is_found(manifest: Manifest) -> None:
    sealed = manifest.seal(key=KEY)
    start = len(manifest_form.FORMAT)
    for place in [*range(start, start + 60), len(sealed) - 1]:
        forged = bytearray(sealed)
        forged[place] ^= 1
        with pytest.raises(IntegrityError):
            Manifest.unseal(bytes(forged), key=KEY)
    with pytest.raises(IntegrityError):
        Manifest.unseal(sealed[:-1], key=KEY)


def test_a_manifest_of_another_version_is_told_from_rubbish(manifest: Manifest) -> None:
    sealed = manifest.seal(key=KEY)
    with pytest.raises(StoreTooNew, match="newer version"):
        Manifest.unseal(manifest_form.FAMILY + b"3\n" + sealed[len(manifest_form.FORMAT) :], key=KEY)
    with pytest.raises(IntegrityError, match="no sealed manifest"):
        Manifest.unseal(b"rubbish", key=KEY)


def test_a_manifest_of_the_first_design_is_read(manifest: Manifest) -> None:
    """It has another head, and knows nothing of row marks."""
    first = replace(manifest, rows=None)
    content = json.loads(first.to_bytes())
    del content["rows"]
    assert Manifest.from_bytes(json.dumps(content).encode()).to_bytes() == first.to_bytes()
    sealed = first.seal(key=KEY)
    old = manifest_form.FIRST_FORMAT + sealed[len(manifest_form.FORMAT) :]
    assert Manifest.unseal(old, key=KEY).to_bytes() == first.to_bytes()
    assert np.array_equal(first.present("ann"), first.codebook.row("ann"))


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"release": 1}', b"\xff"])
def test_content_that_is_no_manifest_is_an_integrity_error(content: bytes) -> None:
    with pytest.raises(IntegrityError):
        Manifest.from_bytes(content)


def test_further_recipients_change_nobodys_marks(manifest: Manifest) -> None:
    more = manifest.with_recipients(["late"], key=KEY)
    assert more.recipients == ("ann", "bob", "late")
    assert more.revision == 1
    assert (more.codebook.present[:2] == manifest.codebook.present).all()
    alone = Codebook.of(manifest.codebook.marks, manifest.law, ["late"], release=manifest.release, key=KEY)
    assert (more.codebook.present[2] == alone.present[0]).all()


def test_a_fingerprint_knows_every_person(tmp_path: Path) -> None:
    people: Any = [("F", "1"), ("M", "1"), ("M", "2")]
    one = Classes.of(["sex", "zip"], people)
    assert fingerprint(one) == fingerprint(Classes.of(["sex", "zip"], people[::-1]))
    assert fingerprint(one) != fingerprint(Classes.of(["sex", "zip"], [*people, ("M", "2")]))
    assert fingerprint(one) != fingerprint(Classes.of(["sex", "plz"], people))


def test_nothing_of_a_record_shows_in_a_repr(manifest: Manifest) -> None:
    for value in (manifest, manifest.codebook, manifest.codebook.marks, manifest.decoys, manifest.released):
        assert len(repr(value)) < 120
        assert "flu" not in repr(value)
