"""The two secrets of a ledger: one signs heads, one hashes values.

Both are in one file, in an environment variable, or in what a command prints, such as one that asks a key management service.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import subprocess
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra, UsageError
from discreet.store import Address, default_folder
from discreet.wording import reason

if TYPE_CHECKING:
    from nacl.signing import SigningKey

VARIABLE = "DISCREET_KEYS"
"""The environment variable that names the file,"""
CONTENT = "DISCREET_KEYS_CONTENT"
"""that holds what would be in it,"""
COMMAND = "DISCREET_KEYS_COMMAND"
"""and that names a command which prints it."""
PATIENCE = 30
"""Seconds that the command may take."""
FORMAT = "discreet-keys-1"


@dataclass(frozen=True)
class Keys:
    """The secrets; `public` is what others need to check a head."""

    signing: bytes = field(repr=False)
    values: bytes = field(repr=False)
    following: bytes | None = field(default=None, repr=False)
    """The next signing key, while it takes the place of this one (`discreet ledger rotate-key`)."""

    @classmethod
    def generate(cls) -> Keys:
        """New secrets."""
        return cls(secrets.token_bytes(32), secrets.token_bytes(32))

    @classmethod
    def parse(cls, text: str | bytes, place: str) -> Keys:
        """The secrets that a text holds."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise ValueError
            following = bytes.fromhex(content["following"]) if "following" in content else None
            keys = cls(bytes.fromhex(content["signing"]), bytes.fromhex(content["values"]), following)
        except (ValueError, KeyError, TypeError):
            raise _unreadable(place, "not a file of keys") from None
        if any(len(key) != 32 for key in (keys.signing, keys.values, keys.following or keys.signing)):
            raise _unreadable(place, "a key of the wrong length")
        return keys

    def text(self) -> str:
        """As they are written."""
        content = {"format": FORMAT, "signing": self.signing.hex(), "values": self.values.hex()}
        if self.following is not None:
            content["following"] = self.following.hex()
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def load(cls, path: Path) -> Keys:
        """The secrets in a file that only its owner may read."""
        try:
            if path.stat().st_mode & 0o077 and os.name == "posix":
                raise UsageError(f"Others may read the keys in {path}.", remedy=f"Run: chmod 600 {path}")
            return cls.parse(path.read_bytes(), str(path))
        except OSError as error:
            raise _unreadable(str(path), reason(error)) from None

    @classmethod
    def make(cls, path: Path) -> Keys:
        """New secrets in a new file; if another process was quicker, its secrets."""
        keys = cls.generate()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = _draft(path, keys)
            try:
                os.link(draft, path)
            except FileExistsError:
                return cls.load(path)
            finally:
                draft.unlink()
        except OSError as error:
            raise _unwritable(path, error) from None
        return keys

    def save(self, path: Path) -> None:
        """Replace a file of keys, at once and whole."""
        try:
            _draft(path, self).replace(path)
        except OSError as error:
            raise _unwritable(path, error) from None

    @classmethod
    def of_store(cls, address: Address) -> Keys | None:
        """The secrets of a store; None if their file does not exist yet."""
        given = [name for name in (VARIABLE, CONTENT, COMMAND) if os.environ.get(name)]
        if len(given) > 1:
            raise UsageError(f"The keys are given twice, in {' and '.join(given)}.", remedy="Set one of them.")
        if text := os.environ.get(CONTENT):
            return cls.parse(text, CONTENT)
        if command := os.environ.get(COMMAND):
            try:
                done = subprocess.run(  # noqa: S602 - the operator's own command, as they typed it
                    command, shell=True, stdout=subprocess.PIPE, timeout=PATIENCE, check=False
                )
            except subprocess.TimeoutExpired:
                raise _unreadable(COMMAND, f"the command took more than {PATIENCE} seconds") from None
            if done.returncode:
                raise _unreadable(COMMAND, f"the command ended with exit code {done.returncode}")
            return cls.parse(done.stdout, COMMAND)
        path = place_of(address)
        return cls.load(path) if path.exists() else None

    def with_following(self) -> Keys:
        """These, with a new signing key that is to follow."""
        return replace(self, following=secrets.token_bytes(32))

    def for_tree(self, public: str) -> Keys:
        """These, with the next signing key if that is in force."""
        if self.following is None or self.public == public:
            return self
        return replace(self, signing=self.following, following=None)

    @cached_property
    def _signer(self) -> SigningKey:
        return nacl_signing().SigningKey(self.signing)  # type: ignore[no-any-return]

    @cached_property
    def public(self) -> str:
        """The public key, in hex."""
        return bytes(self._signer.verify_key).hex()

    def sign(self, message: bytes) -> str:
        """The Ed25519 signature of a message, in hex."""
        return self._signer.sign(message).signature.hex()

    def fingerprint(self, value: str | bytes) -> str:
        """The keyed hash of a value: equal values have equal ones, and nobody without the key can go through them."""
        data = value.encode() if isinstance(value, str) else value
        return hmac.new(self.values, data, hashlib.sha256).hexdigest()

    @property
    def values_check(self) -> str:
        """Tells whether another process hashes values with the same secret, without telling the secret."""
        return self.fingerprint("discreet: which key is this?")[:16]


def place_of(address: Address) -> Path:
    """Where the keys of a store are: as DISCREET_KEYS says, else beside the file, else in the default folder."""
    if given := os.environ.get(VARIABLE):
        return Path(given).expanduser()
    if address.path is not None:
        return address.path.with_name(f"{address.path.name}.keys")
    return default_folder() / "postgresql.keys"


def nacl_signing() -> Any:
    """PyNaCl's module of signatures, or in words that it is missing."""
    try:
        import nacl.signing
    except ImportError:
        raise MissingExtra("store", needed_for="Signing and checking heads of the ledger") from None
    return nacl.signing


def kept_in_file() -> bool:
    """Whether the keys are in a file, which can be written to."""
    return not (os.environ.get(CONTENT) or os.environ.get(COMMAND))


def _draft(path: Path, keys: Keys) -> Path:
    """The keys in a new private file beside a path."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        file.write(keys.text())
        file.flush()
        os.fsync(file.fileno())
    return draft


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"The keys of the ledger cannot be written to {path} ({reason(error)}).",
        remedy=f"Give a path you may write to in {VARIABLE}.",
    )


def _unreadable(place: str, why: str) -> UsageError:
    return UsageError(
        f"The keys of the ledger cannot be read from {place} ({why}).",
        remedy=f"Say in {VARIABLE} where the file of keys is; without it nothing can be written down.",
    )
