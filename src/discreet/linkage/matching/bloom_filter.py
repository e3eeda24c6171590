"""Bloom-filter encoding of records (CLK): what organisations exchange that may not pool names.

An encoding (cryptographic linkage key, Schnell, Bachteler & Reiher 2011) is one Bloom filter of all identifying values of
a record: pieces of the values are hashed with keys that follow from a secret of the parties. Like values set mostly the
same bits, so that encodings can be compared without the values. Settings are written as a linkage schema of clkhash,
version 3, and the same schema, secret and values give the same bits there.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import hmac
import json
import os
import secrets
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet.errors import DataError, PolicyError, UsageError
from discreet.kernel.serialise import json_of
from discreet.linkage.folder import TABLES, cleaned_records
from discreet.linkage.matching.keys import folded
from discreet.linkage.spec import LinkageSpec
from discreet.sources.export.targets import guarded, unwritable
from discreet.wording import reason

LENGTH, FOLDS = 1024, 1
"""Bits of an encoding, and how often a filter of twice the length is folded onto itself before."""
INSERTED = {"string": 120, "fixed": 120, "date": 120, "category": 40}
"""How often each attribute is hashed into the filter, whatever the length of its value, so that no filter tells lengths."""
LEAST_SECRET = 32
"""Characters of a secret, which nobody may guess: whoever has it can encode a list of names and look them up."""
KEY_SIZE = 64
CLK = "clk"
"""The column of encodings."""
FORMATS = ("string", "integer", "date", "enum")
DESCRIBED = "docs/how-to/link-without-pooling-names.md says what a schema may contain."


@dataclass(frozen=True)
class Feature:
    """How one attribute is hashed."""

    name: str
    format: str
    pieces: int
    """Characters of a piece of the value; 0 where the whole value is one."""
    positional: bool = False
    per_piece: int | None = None
    """How often each piece is hashed; otherwise all pieces of a value share `per_value`."""
    per_value: int | None = None
    double: bool = False
    """Double hashing with SHA-1 and MD5 instead of BLAKE2b; for what others have encoded so, since it is weaker."""
    never_singular: bool = False

    def tokens(self, value: str) -> list[str]:
        """The pieces of a value.

        >>> Feature("name", "string", 2).tokens("ANN")
        [' A', 'AN', 'NN', 'N ']
        >>> Feature("born", "date", 1, positional=True).tokens("1964-08")[-1]
        '6 8'
        """
        text = value.replace("-", "") if self.format == "date" else value
        if self.format == "integer" and text.isdecimal():
            text = str(int(text))
        if not text or not self.pieces:
            return [text] if text else []
        edge = " " * (self.pieces - 1)
        text = f"{edge}{text}{edge}"
        cut = (text[at : at + self.pieces] for at in range(len(text) - self.pieces + 1))
        return [f"{at} {piece}" for at, piece in enumerate(cut, start=1)] if self.positional else list(cut)

    def counts(self, tokens: int) -> list[int]:
        """How often each of so many pieces is hashed."""
        if self.per_piece is not None:
            return [self.per_piece] * tokens
        each, more = divmod(self.per_value or 0, tokens)
        return [each + 1] * more + [each] * (tokens - more)

    def to_dict(self) -> dict[str, Any]:
        """The feature of a schema."""
        comparison = {"type": "ngram", "n": self.pieces, "positional": self.positional}
        strategy = {"bitsPerFeature": self.per_value} if self.per_piece is None else {"bitsPerToken": self.per_piece}
        kind = {"type": "doubleHash", "prevent_singularity": self.never_singular}
        return {
            "identifier": self.name,
            "format": {"type": self.format, **({"format": "%Y-%m-%d"} if self.format == "date" else {})},
            "hashing": {
                "comparison": comparison if self.pieces else {"type": "exact"},
                "strategy": strategy,
                "hash": kind if self.double else {"type": "blakeHash"},
            },
        }


@dataclass(frozen=True)
class ClkSchema:
    """How records are encoded; all parties use the same."""

    features: tuple[Feature, ...]
    length: int = LENGTH
    folds: int = FOLDS
    hash: str = "SHA256"
    salt: bytes = b""
    info: bytes = b""
    key_size: int = KEY_SIZE

    @classmethod
    def of(cls, spec: LinkageSpec) -> ClkSchema:
        """The schema for the attributes of a link file.

        Names are cut into pairs of letters, IDs and dates into digits with their places; a category is one piece.
        """
        features = []
        for attribute in spec.attributes:
            kind = attribute.kind
            pieces = {"string": 2, "category": 0}.get(kind, 1)
            written = "date" if kind == "date" else "string"
            positional = kind in ("date", "fixed")
            features.append(Feature(attribute.name, written, pieces, positional, per_value=INSERTED[kind]))
        return cls(tuple(features))

    @classmethod
    def load(cls, path: Path, spec: LinkageSpec) -> ClkSchema:
        """A clkhash schema (version 3) whose features are attributes of the link file."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PolicyError(
                f"The schema cannot be read ({reason(error)}).", file=str(path), remedy=DESCRIBED
            ) from None
        try:
            return cls._of_dict(content, spec.names)
        except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
            words = str(error) if type(error) is ValueError else "it is no linkage schema of clkhash, version 3"
            raise PolicyError(f"The schema cannot be used: {words}.", file=str(path), remedy=DESCRIBED) from None

    @classmethod
    def _of_dict(cls, content: dict[str, Any], names: Sequence[str]) -> ClkSchema:
        _known(content, "version clkConfig features", "the schema")
        if content["version"] != 3:
            raise ValueError("it has another version than 3")
        config = content["clkConfig"]
        _known(config, "l xor_folds xorFolds kdf", "clkConfig")
        if config.get("xorFolds", config.get("xor_folds", 0)) != config.get("xor_folds", 0):
            raise ValueError("clkhash passes over xorFolds: write xor_folds, with the same number")
        _known(config["kdf"], "type hash salt info keySize", "kdf")
        if config["kdf"]["type"] != "HKDF" or config["kdf"].get("hash", "SHA256") not in ("SHA256", "SHA512"):
            raise ValueError("its keys are not derived by HKDF with SHA256 or SHA512")
        features = tuple(feature_of(each) for each in content["features"])
        used = [feature.name for feature in features if feature.format]
        if sorted(used) != sorted(names):
            raise ValueError("its features are not the attributes of the link file")
        salt, info = (base64.b64decode(config["kdf"].get(name, "")) for name in ("salt", "info"))
        folds, size = config.get("xor_folds", 0), config["kdf"].get("keySize", KEY_SIZE)
        made = cls(features, config["l"], folds, config["kdf"].get("hash", "SHA256"), salt, info, size)
        whole = made.length << made.folds
        if made.length % 8 or not 64 <= made.length <= 1 << 16 or not 0 <= made.folds <= 4 or not 16 <= size <= 64:
            raise ValueError("l is a multiple of 8 from 64 to 65536, xor_folds 0 to 4, keySize 16 to 64")
        if whole & (whole - 1) and not all(feature.double for feature in features if feature.format):
            raise ValueError("for blakeHash l is a power of two")
        return made

    def keys(self, secret: bytes) -> list[tuple[bytes, bytes]]:
        """Two keys per feature, derived from the secret (HKDF, RFC 5869)."""
        digest = {"SHA256": "sha256", "SHA512": "sha512"}[self.hash]
        size = hashlib.new(digest).digest_size
        inner = hmac.digest(self.salt or bytes(size), secret, digest)
        made, block, wanted = b"", b"", 2 * len(self.features) * self.key_size
        while len(made) < wanted:
            block = hmac.digest(inner, block + self.info + bytes([len(made) // size + 1]), digest)
            made += block
        parts = [made[at : at + self.key_size] for at in range(0, wanted, self.key_size)]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def encode(self, records: Iterable[Sequence[str | None]], names: Sequence[str], secret: bytes) -> list[str | None]:
        """The encodings of records in base64; None where most attributes are missing.

        An encoding of few values would tell which they are by how often it occurs.

        >>> schema = ClkSchema((Feature("a", "string", 2, per_value=20), Feature("b", "string", 0, per_value=20)), 64)
        >>> both = schema.encode([("ANN", "F"), ("ANN", None), (None, None)], ["a", "b"], b"k" * 32)
        >>> [text if text is None else len(text) for text in both], both[0] == both[1]
        ([12, 12, None], False)
        """
        whole = self.length << self.folds
        hashed = [
            (list(names).index(feature.name), feature, key)
            for feature, key in zip(self.features, self.keys(secret), strict=True)
            if feature.format
        ]
        found: list[str | None] = []
        for record in records:
            bits = present = 0
            for place, feature, key in hashed:
                tokens = feature.tokens(record[place] or "")
                present += bool(tokens)
                for token, count in zip(tokens, feature.counts(len(tokens)) if tokens else (), strict=True):
                    bits |= _token_bits(token, count, key, whole, feature.double, feature.never_singular)
            if 2 * present < len(hashed):
                found.append(None)
                continue
            for fold in range(1, self.folds + 1):
                half = whole >> fold
                bits = (bits >> half) ^ (bits & ((1 << half) - 1))
            found.append(base64.b64encode(bits.to_bytes(self.length // 8, "big")).decode("ascii"))
        return found

    def to_dict(self) -> dict[str, Any]:
        """A schema of clkhash, version 3."""
        kdf: dict[str, Any] = {"type": "HKDF", "hash": self.hash, "keySize": self.key_size}
        kdf |= {name: base64.b64encode(value).decode("ascii") for name, value in (("salt", self.salt), ("info", self.info)) if value}  # fmt: skip
        return {
            "version": 3,
            "clkConfig": {"l": self.length, "xor_folds": self.folds, "kdf": kdf},
            "features": [
                feature.to_dict() if feature.format else {"identifier": feature.name, "ignored": True}
                for feature in self.features
            ],
        }


def _known(section: dict[str, Any], keys: str, where: str) -> None:
    if unknown := set(section) - set(keys.split()) - {"description"}:
        raise ValueError(f"{where} has a key that is not understood here: {min(unknown)}")


def feature_of(content: dict[str, Any]) -> Feature:
    """A feature of a schema; its format is empty where it is ignored."""
    if content.get("ignored"):
        return Feature(content["identifier"], "", 0)
    _known(content, "identifier format hashing ignored", "a feature")
    hashing, kind = content["hashing"], content["hashing"].get("hash", {"type": "blakeHash"})
    _known(hashing, "comparison strategy hash", "hashing")
    compared, strategy, written = hashing["comparison"], hashing["strategy"], content["format"]["type"]
    if compared["type"] not in ("ngram", "exact") or kind["type"] not in ("blakeHash", "doubleHash"):
        raise ValueError("a feature is not compared by ngram or exact, with blakeHash or doubleHash")
    if written not in FORMATS or content["format"].get("encoding", "utf-8") not in ("utf-8", "ascii"):
        raise ValueError("a format is string, integer, date or enum, in UTF-8")
    counts = [strategy.get(name) for name in ("bitsPerToken", "bitsPerFeature")]
    pieces = compared.get("n", 0) if compared["type"] == "ngram" else 0
    numbers = [*(count for count in counts if count is not None), pieces or 1]
    if len(numbers) != 2 or not all(type(number) is int and 1 <= number <= 10_000 for number in numbers):
        raise ValueError("a feature has one of bitsPerToken and bitsPerFeature, and n, all whole numbers from 1")
    return Feature(
        content["identifier"], written, pieces, bool(compared.get("positional")), counts[0], counts[1],
        double=kind["type"] == "doubleHash", never_singular=bool(kind.get("prevent_singularity")),
    )  # fmt: skip


@lru_cache(maxsize=1 << 17)
def _token_bits(
    token: str, count: int, key: tuple[bytes, bytes], whole: int, double: bool, never_singular: bool
) -> int:
    """The bits that a piece sets; the first one is the highest."""
    text = token.encode("utf-8")
    if double:
        one, other = (
            int.from_bytes(hmac.digest(k, text, d), "big") % whole for k, d in zip(key, ("sha1", "md5"), strict=True)
        )
        turn = 0
        while never_singular and not other:
            other = int.from_bytes(hmac.digest(key[1], text + chr(turn).encode(), "md5"), "big") % whole
            turn += 1
        places = [(one + at * other) % whole for at in range(count)]
    else:  # slices of 16 bits of keyed BLAKE2b, as many blocks as are needed
        blocks = (hashlib.blake2b(text, key=key[0], salt=str(at).encode()).digest() for at in range((count + 31) // 32))
        places = [number % whole for block in blocks for number in struct.unpack("32H", block)][:count]
    bits = 0
    for place in places:
        bits |= 1 << (whole - 1 - place)
    return bits


@dataclass(frozen=True)
class Encoded:
    """What was written."""

    records: int
    left_out: int
    """Records that lack most identifying values, so that their encoding would tell them: they have none."""

    to_dict = json_of("records left_out")


def write_encodings(
    source: Any, spec: LinkageSpec, *, schema: ClkSchema, secret: bytes, out: Path, like: str = "first",
    sensitive: bool = False,
) -> Encoded:  # fmt: skip
    """Encode a table into a new CSV file: ids and encodings, in random order."""
    if spec.encoded:
        raise UsageError(
            "The link file declares encodings, not what is encoded.", remedy="Give that of your own table."
        )
    if out.exists():
        raise UsageError(f"{out} exists already.", remedy="Give the name of a new file.")
    table = cleaned_records(source, spec, like=like, folded=folded)
    encodings = schema.encode(table.values, spec.names, secret)
    side = spec.sides[TABLES.index(like)]
    more = side.sensitive if sensitive else ()
    if twice := {str(side.id), CLK} & {*more} | {CLK} & {str(side.id)}:
        raise UsageError(
            f"A column is called '{min(twice)}' already.", remedy="Rename it in the table and the link file."
        )
    try:
        with os.fdopen(
            os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8", newline=""
        ) as file:
            writer = csv.writer(file)
            writer.writerow([side.id, CLK, *more])
            for name, encoding, cells in zip(table.ids, encodings, table.sensitive, strict=True):
                rest = ["" if cell is None else guarded(cell) if isinstance(cell, str) else cell for cell in cells]
                writer.writerow([guarded(name), encoding or "", *(rest if sensitive else ())])
    except OSError as error:
        raise unwritable(out, error) from None
    return Encoded(len(encodings), encodings.count(None))


def read_secret(path: Path) -> bytes:
    """The secret of the parties, from a file that only its owner can read."""
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise UsageError(
            f"The secret file cannot be read ({reason(error)}).",
            remedy="One party makes it with --new-secret, and hands it to the other, to nobody else.",
        ) from None
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise UsageError("Other users of this machine can read the secret file.", remedy=f"chmod 600 {path}")
    if len(secret) < LEAST_SECRET or len(set(secret)) < 8:
        raise DataError(
            f"The secret is shorter than {LEAST_SECRET} characters, or too simple.",
            remedy="A secret can be tried by anyone who has the encodings: let --new-secret make one.",
        )
    return secret


def new_secret(path: Path) -> bytes:
    """Write 256 random bits into a new file that only its owner can read."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
    except FileExistsError:
        raise UsageError(f"{path} exists already.", remedy="Leave out --new-secret to use it.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({reason(error)}).", remedy="Choose another place.") from None
    return read_secret(path)
