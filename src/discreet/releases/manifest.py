"""Manifest of a release: all that late recipients, versions and traces need, encrypted in the store."""

from __future__ import annotations

import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import IntegrityError, MissingExtra, Refused, StoreTooNew
from discreet.kernel import Classes, Rule
from discreet.kernel.arrays import Flags, Ints, Label
from discreet.kernel.serialise import json_of
from discreet.releases.marks.codebook import Codebook, Law, Marks, canonical, derive
from discreet.releases.marks.row_marks import RowCodebook, RowMarks
from discreet.releases.preconditions import Gates
from discreet.releases.serialise import (
    bytes_of,
    pack_classes,
    pack_flags,
    pack_ints,
    read_rule,
    text_of,
    unpack_classes,
    unpack_flags,
    unpack_ints,
    write_rule,
)

if TYPE_CHECKING:
    from nacl.secret import SecretBox

FAMILY = b"discreet-manifest-"
FORMAT, FIRST_FORMAT = FAMILY + b"2\n", FAMILY + b"1\n"
"""Manifests of the first design have no row marks, and are read."""
NONCE_BYTES = 24
BAIT = "bait:"
"""How the law of a release with bait begins: its marks were dealt, and follow no law of presence."""


@dataclass(frozen=True, eq=False)
class DecoyCells:
    """Rows of decoys without their quasi-identifiers, every cell as text from which its type can be made."""

    columns: Mapping[str, Sequence[Label]]
    places: Ints
    """Per row, the place of its mark."""

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f"DecoyCells({len(self)} rows)"


@dataclass(frozen=True, eq=False)
class ReservedRows:
    """People whose values decoys hold, as they would be published."""

    labels: tuple[tuple[Label, ...], ...]
    """Their own classes."""
    cells: Mapping[str, Sequence[Label]]
    """Every other column, as text."""
    decoys: Ints
    """Per person, the row of a decoy that has their values; -1 where it is gone."""
    shown: tuple[tuple[Label, ...], ...] = ()
    """Classes that an earlier release of the data set showed and this one does not: their people give nothing to decoys."""
    gone: tuple[tuple[Label, ...], ...] = ()
    """Classes, real ones and decoys, that became too small once: nobody is released there any more."""

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"ReservedRows({len(self)} people)"

    def to_dict(self) -> dict[str, Any]:
        """For the sealed manifest."""
        cells = {name: list(column) for name, column in self.cells.items()}
        classes = {name: [list(label) for label in getattr(self, name)] for name in ("labels", "shown", "gone")}
        return {**classes, "cells": cells, "decoys": pack_ints(self.decoys)}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> ReservedRows:
        """What was written."""
        labels, shown, gone = (tuple(tuple(label) for label in written[name]) for name in ("labels", "shown", "gone"))
        return cls(labels, dict(written["cells"]), unpack_ints(written["decoys"]), shown, gone)


@dataclass(frozen=True, eq=False)
class ReleaseSettings:
    """Settings of a release; every later version must have the same."""

    k: int
    suppression: float
    loss: str
    law: str
    row_ids: str | None = "row"
    """The column of fresh row numbers, if there is one."""
    requirements: tuple[str, ...] = ()
    """What every released class satisfies, in words."""

    to_dict = json_of()

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> ReleaseSettings:
        """What was written."""
        return cls(**{**written, "requirements": tuple(written["requirements"])})


@dataclass(frozen=True, eq=False)
class PopulationSummary:
    """The population by what a trace needs of it: how many of its classes have each link count."""

    links: Ints
    classes: Ints
    people: int
    sampling: float
    """The share of the population that is in the data."""

    @classmethod
    def of(cls, population: Classes, *, sampling: float) -> PopulationSummary:
        """Count the classes of each size; nothing else of the population stays."""
        links, classes = np.unique(population.sizes, return_counts=True)
        return cls(links.astype(np.int64), classes.astype(np.int64), population.records, sampling)


@dataclass(frozen=True, eq=False)
class Manifest:
    """One version of a release; `revision` counts how often recipients were added to it."""

    release: str
    version: int
    revision: int
    settings: ReleaseSettings
    policy: str
    """The digest of the policy."""
    rules: Mapping[str, Rule]
    """Per quasi-identifier, how its values generalise."""
    fingerprint: str
    """The digest of the class histogram of the data, as they came."""
    released: Classes
    """The released classes at the node with their true sizes, real marks included."""
    links: Ints
    """People of the population in each of these classes."""
    chains: Mapping[str, Sequence[tuple[Label, ...]]]
    """Per quasi-identifier, every label of the node that occurs in the data or the population, and what it becomes at
    coarser levels."""
    crowd: PopulationSummary
    codebook: Codebook
    decoys: DecoyCells
    gates: Gates
    preflight: Mapping[str, Any] = field(default_factory=dict)
    """What was foreseen when it was made."""
    published: Mapping[str, str] = field(default_factory=dict)
    """Every column of the copies with its role; empty in manifests that were made before roles were kept."""
    rows: RowCodebook | None = None
    """Single rows that some copies lack; None in manifests of the first design."""
    dataset: str = ""
    """The data set, which all releases of the same people share; empty where it has the name of the release."""
    reserved: ReservedRows | None = None
    """Rows whose values decoys of this data set hold, now or before; None in manifests of the first design."""

    @property
    def scope(self) -> str:
        """The data set: what marks and bits depend on, beside recipient and key."""
        return self.dataset or self.release

    @property
    def levels(self) -> dict[str, int]:
        """The level of each quasi-identifier."""
        return self.released.levels

    @property
    def recipients(self) -> tuple[str, ...]:
        """Who has, or will have, a copy."""
        return self.codebook.recipients

    @property
    def law(self) -> Law:
        """The law that presence follows; refused where marks were dealt once for all recipients."""
        self.refuse_change_of_bait()
        return Law.parse(self.settings.law)

    @property
    def bait(self) -> bool:
        """Whether it is a release with bait."""
        return self.settings.law.startswith(BAIT)

    def refuse_change_of_bait(self) -> None:
        """Refuse further recipients and versions of bait: copies that are out cannot lose classes any more."""
        if self.bait:
            raise Refused(
                f"Release '{self.release}' has bait: its copies lack each other's exclusive classes, so it gets no "
                "further recipients, and the same people are not released again: decoys would be missing there.",
                remedy="Release other people, or these with marks from the start.",
            )

    def with_recipients(self, names: Sequence[str], *, key: bytes) -> Manifest:
        """The same with further recipients; nobody's marks change."""
        everybody = (*self.recipients, *names)
        codebook = Codebook.of(self.codebook.marks, self.law, everybody, release=self.scope, key=key)
        rows = self.rows and self.rows.with_recipients(names, release=self.scope, key=key)
        return replace(self, codebook=codebook, rows=rows, revision=self.revision + 1)

    def present(self, recipient: str) -> Flags:
        """Which marks the copy of a recipient holds: those of classes, then those of rows."""
        bits = self.codebook.row(recipient)
        if self.rows is None:
            return bits
        nowhere = np.zeros(self.rows.rows.withheld, dtype=bool)
        return np.concatenate([bits, self.rows.present[self.recipients.index(recipient)], nowhere])

    def to_bytes(self) -> bytes:
        """Canonical: the same manifest always gives the same bytes."""
        marks, crowd = self.codebook.marks, self.crowd
        content = {
            **{name: getattr(self, name) for name in PLAIN},
            "settings": self.settings.to_dict(),
            "rules": {name: write_rule(rule) for name, rule in self.rules.items()},
            "released": pack_classes(self.released),
            "links": pack_ints(self.links),
            "chains": {name: [list(chain) for chain in chains] for name, chains in self.chains.items()},
            "crowd": {
                "links": pack_ints(crowd.links),
                "classes": pack_ints(crowd.classes),
                "people": crowd.people,
                "sampling": crowd.sampling,
            },
            "marks": {
                "columns": list(marks.columns),
                "labels": [list(labels) for labels in marks.labels],
                "decoy": pack_flags(marks.decoy),
                **{name: pack_ints(getattr(marks, name)) for name in MARK_NUMBERS},
            },
            "probabilities": text_of(np.asarray(self.codebook.probabilities, dtype="<f8").tobytes()),
            "recipients": list(self.recipients),
            "present": pack_flags(self.codebook.present),
            "decoys": {
                "places": pack_ints(self.decoys.places),
                "columns": {name: list(cells) for name, cells in self.decoys.columns.items()},
            },
            "preflight": dict(self.preflight),
            "gates": self.gates.to_dict(),
            "published": dict(self.published),
            "dataset": self.dataset,
            "reserved": None if self.reserved is None else self.reserved.to_dict(),
            "rows": None
            if self.rows is None
            else {
                **self.rows.rows.to_dict(),
                "probabilities": text_of(np.asarray(self.rows.probabilities, dtype="<f8").tobytes()),
                "present": pack_flags(self.rows.present),
            },
        }
        return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """The manifest that these bytes were made from."""
        try:
            written = json.loads(content)
            crowd, marks, decoys = (written[name] for name in ("crowd", "marks", "decoys"))
            codebook = Codebook(
                Marks(
                    columns=tuple(marks["columns"]),
                    labels=tuple(tuple(labels) for labels in marks["labels"]),
                    decoy=unpack_flags(marks["decoy"]),
                    **{name: unpack_ints(marks[name]) for name in MARK_NUMBERS},
                ),
                np.frombuffer(bytes_of(written["probabilities"]), dtype="<f8").astype(np.float64),
                tuple(written["recipients"]),
                unpack_flags(written["present"]),
            )
            return cls(
                **{name: written[name] for name in PLAIN},
                settings=ReleaseSettings.from_dict(written["settings"]),
                rules={name: read_rule(rule) for name, rule in written["rules"].items()},
                released=unpack_classes(written["released"]),
                links=unpack_ints(written["links"]),
                chains={name: tuple(map(tuple, chains)) for name, chains in written["chains"].items()},
                crowd=PopulationSummary(
                    unpack_ints(crowd["links"]), unpack_ints(crowd["classes"]), crowd["people"], crowd["sampling"]
                ),
                codebook=codebook,
                decoys=DecoyCells(dict(decoys["columns"]), unpack_ints(decoys["places"])),
                preflight=written["preflight"],
                gates=Gates(**written["gates"]),
                published=written.get("published", {}),
                dataset=written.get("dataset", ""),
                reserved=None if (kept := written.get("reserved")) is None else ReservedRows.from_dict(kept),
                rows=RowCodebook(
                    RowMarks.from_dict(rows, tuple(marks["columns"])),
                    np.frombuffer(bytes_of(rows["probabilities"]), dtype="<f8").astype(np.float64),
                    unpack_flags(rows["present"]),
                )
                if (rows := written.get("rows"))
                else None,
            )
        except (ValueError, KeyError, TypeError, IndexError):
            raise IntegrityError(
                "The manifest of the release is not what was written.", remedy="Restore the store from a backup."
            ) from None

    def seal(self, *, key: bytes) -> bytes:
        """Compress and encrypt it for the store (XSalsa20 with Poly1305).

        The nonce is a keyed hash of the content: the same manifest under the same key gives the same bytes, so that a step
        that failed and is repeated commits to the same digest.
        """
        content = self.to_bytes()
        nonce = hmac.digest(derive(key, "nonce"), content, hashlib.sha256)[:NONCE_BYTES]
        return FORMAT + bytes(_box(key).encrypt(zlib.compress(content, 6), nonce))

    @classmethod
    def unseal(cls, sealed: bytes, *, key: bytes) -> Manifest:
        """Decrypt it; an error in words if it is of another version, was changed, or has another key."""
        if not sealed.startswith(FAMILY):
            raise IntegrityError("This is no sealed manifest.", remedy="Restore the store from a backup.")
        if not sealed.startswith((FORMAT, FIRST_FORMAT)):
            raise StoreTooNew(
                "The manifest of the release was sealed by a newer version of Discreet.",
                remedy="Update Discreet on this machine.",
            )
        from nacl.exceptions import CryptoError

        try:
            content = zlib.decompress(_box(key).decrypt(sealed[len(FORMAT) :]))
        except (CryptoError, ValueError, zlib.error):
            raise IntegrityError(
                "The manifest of the release cannot be opened: it was sealed with another key, or was changed.",
                remedy="Say in DISCREET_KEYS where the keys of this ledger are, or restore the store from a backup.",
            ) from None
        return cls.from_bytes(content)

    def __repr__(self) -> str:
        return (
            f"Manifest({self.release} version {self.version}, {len(self.recipients)} recipients, "
            f"{len(self.codebook.marks)} marks)"
        )


def fingerprint(classes: Classes) -> str:
    """The digest of a class histogram: the same people, counted on any engine in any order, give the same.

    >>> one = Classes.of(["sex"], [("F",), ("M",)], [2, 1])
    >>> fingerprint(one) == fingerprint(Classes.of(["sex"], [("M",), ("F",), ("F",)]))
    True
    """
    hashed = hashlib.sha256(canonical([[column.name, list(column.labels)] for column in classes.columns]))
    for array in (*classes.codes, classes.sizes):
        hashed.update(np.asarray(array, dtype="<i8").tobytes())
    return hashed.hexdigest()


PLAIN = ("release", "version", "revision", "policy", "fingerprint")
MARK_NUMBERS = ("sizes", "links", "partners")


def digest(sealed: bytes) -> str:
    """The SHA-256 of the sealed bytes, in hex: what the ledger commits to."""
    return hashlib.sha256(sealed).hexdigest()


def _box(key: bytes) -> SecretBox:
    try:
        from nacl.secret import SecretBox
    except ImportError:
        raise MissingExtra("store", needed_for="Sealing the manifest of a release") from None
    return SecretBox(derive(key, "seal"))
