"""The two secrets of a ledger: one signs its heads, one hashes values whose identity matters. Both live in one file."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra, UsageError
from discreet.store import Address, default_folder
from discreet.wording import reason

if TYPE_CHECKING:
    from nacl.signing import SigningKey

VARIABLE = "DISCREET_KEYS"
"""The environment variable that names the file."""

FORMAT = "discreet-keys-1"


@dataclass(frozen=True)
class Keys:
    """The secrets; `public` is what others need to check a head."""

    signing: bytes = field(repr=False)
    values: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> Keys:
        """New secrets."""
        return cls(secrets.token_bytes(32), secrets.token_bytes(32))

    @classmethod
    def load(cls, path: Path) -> Keys:
        """The secrets in a file that only its owner may read."""
        try:
            if path.stat().st_mode & 0o077 and os.name == "posix":
                raise UsageError(f"Others may read the keys in {path}.", remedy=f"Run: chmod 600 {path}")
            content = json.loads(path.read_bytes())
            if content["format"] != FORMAT:
                raise ValueError
            keys = cls(bytes.fromhex(content["signing"]), bytes.fromhex(content["values"]))
        except OSError as error:
            raise _unreadable(path, reason(error)) from None
        except (ValueError, KeyError, TypeError):
            raise _unreadable(path, "not a file of keys") from None
        if len(keys.signing) != 32 or len(keys.values) != 32:
            raise _unreadable(path, "a key of the wrong length")
        return keys

    @classmethod
    def make(cls, path: Path) -> Keys:
        """New secrets in a new file; if another process was quicker, its secrets."""
        keys = cls.generate()
        content = {"format": FORMAT, "signing": keys.signing.hex(), "values": keys.values.hex()}
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
                file.write(json.dumps(content, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(draft, path)
            except FileExistsError:
                return cls.load(path)
            finally:
                draft.unlink()
        except OSError as error:
            raise UsageError(
                f"The keys of the ledger cannot be written to {path} ({reason(error)}).",
                remedy=f"Give a path you may write to in {VARIABLE}.",
            ) from None
        return keys

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


def _unreadable(path: Path, why: str) -> UsageError:
    return UsageError(
        f"The keys of the ledger cannot be read from {path} ({why}).",
        remedy=f"Say in {VARIABLE} where the file of keys is; without it nothing can be written down.",
    )
