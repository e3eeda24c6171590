"""Manifest of a release: all that late recipients, versions and traces need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.errors import IntegrityError
from discreet.kernel import Classes, Rule
from discreet.kernel.arrays import Ints, Label
from discreet.kernel.serialise import json_of
from discreet.releases.manifest import serialise
from discreet.releases.manifest.serialise import read_rule, write_rule
from discreet.releases.marks.codebook import Codebook, Law, canonical
from discreet.releases.preconditions import Gates


@dataclass(frozen=True, eq=False)
class DecoyCells:
    """The rows of decoys without their quasi-identifiers, every cell as text that its column's type can be made of."""

    columns: Mapping[str, Sequence[Label]]
    places: Ints
    """Per row, the place of its mark."""

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f"DecoyCells({len(self)} rows)"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "places": serialise.pack_ints(self.places),
            "columns": {name: list(cells) for name, cells in self.columns.items()},
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> DecoyCells:
        """What was written."""
        return cls(dict(written["columns"]), serialise.unpack_ints(written["places"]))


@dataclass(frozen=True, eq=False)
class ReleaseSettings:
    """How a release was asked for; a version that is made anew must say the same."""

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
        """From the classes of the population at the node; nothing else of them is kept."""
        links, classes = np.unique(population.sizes, return_counts=True)
        return cls(links.astype(np.int64), classes.astype(np.int64), population.records, sampling)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        numbers = {"links": serialise.pack_ints(self.links), "classes": serialise.pack_ints(self.classes)}
        return {**numbers, "people": self.people, "sampling": self.sampling}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> PopulationSummary:
        """What was written."""
        links, classes = (serialise.unpack_ints(written[name]) for name in ("links", "classes"))
        return cls(links, classes, written["people"], written["sampling"])


@dataclass(frozen=True, eq=False)
class Manifest:
    """One version of a release. `revision` counts how often recipients were added to it."""

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
        """The law that presence follows."""
        return Law.parse(self.settings.law)

    def with_recipients(self, names: Sequence[str], *, key: bytes) -> Manifest:
        """The same with further recipients; nobody's marks change."""
        everybody = (*self.recipients, *names)
        codebook = Codebook.of(self.codebook.marks, self.law, everybody, release=self.release, key=key)
        return replace(self, codebook=codebook, revision=self.revision + 1)

    def to_bytes(self) -> bytes:
        """Canonical: the same manifest always gives the same bytes."""
        content = {
            "release": self.release,
            "version": self.version,
            "revision": self.revision,
            "settings": self.settings.to_dict(),
            "policy": self.policy,
            "rules": {name: write_rule(rule) for name, rule in self.rules.items()},
            "fingerprint": self.fingerprint,
            "released": serialise.pack_classes(self.released),
            "links": serialise.pack_ints(self.links),
            "chains": {name: [list(chain) for chain in chains] for name, chains in self.chains.items()},
            "crowd": self.crowd.to_dict(),
            "marks": serialise.pack_marks(self.codebook.marks),
            "probabilities": serialise.pack_floats(self.codebook.probabilities),
            "recipients": list(self.recipients),
            "present": serialise.pack_flags(self.codebook.present),
            "decoys": self.decoys.to_dict(),
            "preflight": dict(self.preflight),
            "gates": self.gates.to_dict(),
            "published": dict(self.published),
        }
        return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """The manifest that these bytes were made from."""
        try:
            return cls._read(json.loads(content))
        except (ValueError, KeyError, TypeError, IndexError):
            raise IntegrityError(
                "The manifest of the release is not what was written.", remedy="Restore the store from a backup."
            ) from None

    @classmethod
    def _read(cls, written: Mapping[str, Any]) -> Manifest:
        codebook = Codebook(
            serialise.unpack_marks(written["marks"]),
            serialise.unpack_floats(written["probabilities"]),
            tuple(written["recipients"]),
            serialise.unpack_flags(written["present"]),
        )
        plain = ("release", "version", "revision", "policy", "fingerprint", "preflight")
        return cls(
            **{name: written[name] for name in plain},
            settings=ReleaseSettings.from_dict(written["settings"]),
            rules={name: read_rule(rule) for name, rule in written["rules"].items()},
            released=serialise.unpack_classes(written["released"]),
            links=serialise.unpack_ints(written["links"]),
            chains={name: tuple(map(tuple, chains)) for name, chains in written["chains"].items()},
            crowd=PopulationSummary.from_dict(written["crowd"]),
            codebook=codebook,
            decoys=DecoyCells.from_dict(written["decoys"]),
            gates=Gates(**written["gates"]),
            published=written.get("published", {}),
        )

    def seal(self, *, key: bytes) -> bytes:
        """The manifest as it is kept."""
        return serialise.seal(self.to_bytes(), key=key)

    @classmethod
    def unseal(cls, sealed: bytes, *, key: bytes) -> Manifest:
        """The manifest that was kept."""
        return cls.from_bytes(serialise.unseal(sealed, key=key))

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
    found = hashlib.sha256(canonical([[column.name, list(column.labels)] for column in classes.columns]))
    for array in (*classes.codes, classes.sizes):
        found.update(np.asarray(array, dtype="<i8").tobytes())
    return found.hexdigest()
