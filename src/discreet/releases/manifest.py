"""Manifest of a release: all that late recipients, versions and traces need, encrypted in the store."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import IntegrityError, MissingExtra, Refused, StoreTooNew, UsageError
from discreet.kernel import (
    AnyValue,
    AutoMask,
    Classes,
    Column,
    Cuts,
    Dates,
    Flat,
    Hierarchy,
    Mask,
    Prefix,
    Rule,
    TopBottomCode,
    Tree,
    Widths,
)
from discreet.kernel.arrays import Flags, Ints, Label
from discreet.kernel.serialise import json_of, plain
from discreet.releases.marks.codebook import Codebook, Law, Marks, canonical, derive
from discreet.releases.marks.row_marks import RowCodebook, RowMarks
from discreet.releases.preconditions import Gates

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
                "further recipients and no further versions.",
                remedy="Start a release of another name with all recipients.",
            )

    def with_recipients(self, names: Sequence[str], *, key: bytes) -> Manifest:
        """The same with further recipients; nobody's marks change."""
        everybody = (*self.recipients, *names)
        codebook = Codebook.of(self.codebook.marks, self.law, everybody, release=self.release, key=key)
        rows = self.rows and self.rows.with_recipients(names, release=self.release, key=key)
        return replace(self, codebook=codebook, rows=rows, revision=self.revision + 1)

    def present(self, recipient: str) -> Flags:
        """Which marks the copy of a recipient holds: those of classes, then those of rows."""
        bits = self.codebook.row(recipient)
        if self.rows is None:
            return bits
        return np.concatenate([bits, self.rows.present[self.recipients.index(recipient)]])

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
            "probabilities": _text(np.asarray(self.codebook.probabilities, dtype="<f8").tobytes()),
            "recipients": list(self.recipients),
            "present": pack_flags(self.codebook.present),
            "decoys": {
                "places": pack_ints(self.decoys.places),
                "columns": {name: list(cells) for name, cells in self.decoys.columns.items()},
            },
            "preflight": dict(self.preflight),
            "gates": self.gates.to_dict(),
            "published": dict(self.published),
            "rows": None
            if self.rows is None
            else {
                **self.rows.rows.to_dict(),
                "probabilities": _text(np.asarray(self.rows.probabilities, dtype="<f8").tobytes()),
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
                np.frombuffer(_bytes(written["probabilities"]), dtype="<f8").astype(np.float64),
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
                rows=RowCodebook(
                    RowMarks.from_dict(rows, tuple(marks["columns"])),
                    np.frombuffer(_bytes(rows["probabilities"]), dtype="<f8").astype(np.float64),
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


# Arrays, classes and rules of generalisation as JSON, so that a sealed manifest needs no policy file to be read again.
PLAIN = ("release", "version", "revision", "policy", "fingerprint")
MARK_NUMBERS = ("sizes", "links", "partners")


def pack_ints(numbers: Ints) -> str:
    """Whole numbers in as few bytes as they need, as text.

    >>> unpack_ints(pack_ints(np.array([3, -1, 2**40]))).tolist()
    [3, -1, 1099511627776]
    """
    values = np.asarray(numbers, dtype=np.int64)
    small = not len(values) or (values.min() >= -(2**31) and values.max() < 2**31)
    kind = "<i4" if small else "<i8"
    return kind + _text(values.astype(kind).tobytes())


def unpack_ints(text: str) -> Ints:
    """The numbers again."""
    return np.frombuffer(_bytes(text[3:]), dtype=text[:3]).astype(np.int64)


def pack_flags(flags: Flags) -> dict[str, Any]:
    """Truth values, eight to the byte, with their shape.

    >>> unpack_flags(pack_flags(np.array([[True, False, True]]))).tolist()
    [[True, False, True]]
    """
    return {"shape": list(flags.shape), "bits": _text(np.packbits(flags.reshape(-1)).tobytes())}


def unpack_flags(packed: Mapping[str, Any]) -> Flags:
    """The truth values again."""
    shape = tuple(packed["shape"])
    size = int(np.prod(shape, dtype=np.int64))
    bits: NDArray[np.uint8] = np.frombuffer(_bytes(packed["bits"]), dtype=np.uint8)
    return np.unpackbits(bits, count=size).astype(bool).reshape(shape)


def pack_classes(classes: Classes) -> dict[str, Any]:
    """Classes with their sizes, and what each of their values becomes at every coarser level."""
    columns = []
    for column, codes in zip(classes.columns, classes.codes, strict=True):
        hierarchy = column.hierarchy
        # One path per value: itself, then the value one level up, and so on.
        values = [
            [hierarchy.labels[level][code] for code in hierarchy.map(column.level, level).tolist()]
            for level in range(column.level, hierarchy.height)
        ]
        paths = [list(path) for path in zip(*values, strict=True)]
        columns.append({"name": column.name, "level": column.level, "paths": paths, "codes": pack_ints(codes)})
    return {"columns": columns, "sizes": pack_ints(classes.sizes)}


def unpack_classes(packed: Mapping[str, Any]) -> Classes:
    """The classes again; levels below their own hold the same values as their own."""
    columns = []
    for column in packed["columns"]:
        level, paths = column["level"], column["paths"]
        height = level + (len(paths[0]) if paths else 1)
        hierarchy = Hierarchy.of([[path[0]] * level + path for path in paths], height=height)
        columns.append(Column(column["name"], hierarchy, level))
    codes = tuple(unpack_ints(column["codes"]) for column in packed["columns"])
    return Classes(tuple(columns), codes, unpack_ints(packed["sizes"]))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


RULES: Mapping[type[Any], Mapping[str, str]] = {
    Mask: {"mask": "length"},
    AutoMask: {"auto_mask": "longest"},
    Prefix: {"prefix": "lengths"},
    TopBottomCode: {"top": "top", "bottom": "bottom", "widths": "widths"},
    Widths: {"widths": "widths"},
    Cuts: {"cuts": "cuts"},
    AnyValue: {"any": "label"},
    Dates: {"dates": "units", "format": "format"},
    Tree: {"tree": "rows", "name": "name"},
}
"""Rules of generalisation: the keys of each in JSON, and its attributes."""


def write_rule(rule: Rule) -> dict[str, Any]:
    """A rule as JSON holds it.

    >>> write_rule(Mask(5)), read_rule({"mask": 5})
    ({'mask': 5}, Mask(length=5))
    """
    if isinstance(rule, Flat):
        return {"flat": True}
    if type(rule) not in RULES:
        raise UsageError(
            f"A {type(rule).__name__} cannot be written into a manifest.",
            remedy="Use the hierarchies that a policy file knows.",
        )
    written = {key: plain(getattr(rule, attribute)) for key, attribute in RULES[type(rule)].items()}
    decimal = getattr(rule, "decimal", ".")
    return written if decimal == "." else {**written, "decimal": decimal}


def read_rule(written: Mapping[str, Any]) -> Rule:
    """The rule that was written."""
    for kind, keys in RULES.items():
        if keys.keys() <= written.keys():
            decimal = {"decimal": written["decimal"]} if "decimal" in written else {}
            rule: Rule = kind(**{attribute: _tuples(written[key]) for key, attribute in keys.items()}, **decimal)
            return rule
    return Flat()


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def digest(sealed: bytes) -> str:
    """The SHA-256 of the sealed bytes, in hex: what the ledger commits to."""
    return hashlib.sha256(sealed).hexdigest()


def _box(key: bytes) -> SecretBox:
    try:
        from nacl.secret import SecretBox
    except ImportError:
        raise MissingExtra("store", needed_for="Sealing the manifest of a release") from None
    return SecretBox(derive(key, "seal"))
