"""Shipment: a recipient's copy in one file, encrypted, signed, and put somewhere.

Encryption is that of age, the signature Ed25519 in the format of minisign.
The signing key follows from the keys of the ledger, so that there is nothing more to keep. A signature holds the name of the
file and of the release as its trusted comment; `minisign -Vm FILE -P KEY` and every other program of that format verify it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DataError, DiscreetError, MissingExtra, Refused, SourceNotFound, UsageError
from discreet.kernel.serialise import json_of
from discreet.ledger.entry import timestamp
from discreet.ledger.ledger import utc_now
from discreet.releases.delivery.service import Registry
from discreet.releases.marks.codebook import derive
from discreet.wording import reason

if TYPE_CHECKING:
    from nacl.signing import SigningKey

ALGORITHM, PREHASHED = b"Ed", b"ED"
REMOTE = ("sftp", "s3")
"""Targets beside folders."""
ENDING = ".tar"


@dataclass(frozen=True)
class Signer:
    """Signs files in the format of minisign."""

    key: SigningKey

    @classmethod
    def of(cls, registry: Registry) -> Signer:
        """The one of a store."""
        from nacl.signing import SigningKey

        return cls(SigningKey(derive(registry.ledger.keys.values, "delivery/signing")))

    @property
    def number(self) -> bytes:
        """Tells this key from others."""
        return hashlib.blake2b(self.key.verify_key.encode(), digest_size=8).digest()

    @property
    def public(self) -> str:
        """One line to verify with, which recipients get by another way."""
        return base64.b64encode(ALGORITHM + self.number + self.key.verify_key.encode()).decode()

    def signature(self, content: bytes, *, comment: str) -> str:
        """The lines of a signature."""
        own = self.key.sign(hashlib.blake2b(content).digest()).signature
        whole = self.key.sign(own + comment.encode()).signature
        lines = (
            "untrusted comment: signature of a release",
            base64.b64encode(PREHASHED + self.number + own).decode(),
            f"trusted comment: {comment}",
            base64.b64encode(whole).decode(),
        )
        return "\n".join(lines) + "\n"


def packed(folder: Path) -> bytes:
    """A recipient's folder as an archive; the same files give the same bytes."""
    files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    if not files:
        raise SourceNotFound(
            f"There is no copy in {folder}.", remedy="Give the folder that `discreet release make` wrote."
        )
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in files:
            about = tarfile.TarInfo(path.name)
            about.size, about.mode = path.stat().st_size, 0o600
            with path.open("rb") as file:
                archive.addfile(about, file)
    return written.getvalue()


def encrypted(content: bytes, keys: tuple[str, ...]) -> bytes:
    """Encrypt it for the holders of these age keys."""
    try:
        import pyrage
    except ImportError:
        raise MissingExtra("delivery", needed_for="Encrypting copies") from None
    try:
        recipients = [pyrage.x25519.Recipient.from_str(key.strip()) for key in keys]
    except pyrage.RecipientError:
        raise UsageError(
            "A key of age begins with age1 and is one word.",
            remedy="Ask the recipient for the line that `age-keygen` prints as public key.",
        ) from None
    whole: bytes = pyrage.encrypt(content, recipients)
    return whole


@dataclass(frozen=True)
class DeliveryTarget:
    """Where a recipient fetches files: a folder, sftp://USER@HOST/FOLDER, or s3://BUCKET/FOLDER."""

    address: str
    options: dict[str, Any]

    @classmethod
    def of(cls, address: str, options: dict[str, Any] | None = None) -> DeliveryTarget:
        """A target by its address."""
        scheme, separator, _ = address.partition("://")
        if separator and scheme not in REMOTE:
            raise UsageError(
                f"Copies are put into a folder, on {REMOTE[0]}:// or on {REMOTE[1]}://, not on {scheme}://.",
                remedy="Give one of these.",
            )
        return cls(address.rstrip("/"), options or {})

    @property
    def remote(self) -> bool:
        """Whether it is on another machine."""
        return "://" in self.address

    def put(self, name: str, content: bytes) -> None:
        """Write a file whole: under another name first, then renamed."""
        try:
            import fsspec

            system, place = fsspec.core.url_to_fs(self.address, **self.options)
            if not self.address.startswith("s3:"):
                # A bucket is there or is not: one of a mistyped name is never made.
                system.makedirs(place, exist_ok=True)
            whole, part = f"{place}/{name}", f"{place}/{name}.part"
            if system.exists(whole):
                raise Refused(
                    f"There is a {name} at {self.shown} already.",
                    remedy="Take it away there first, or choose another folder.",
                )
            system.pipe_file(part, content)
            if system.size(part) != len(content):
                raise DataError(f"{name} arrived at {self.shown} with another size.", remedy="Send it again.")
            system.mv(part, whole)
        except ImportError:
            raise MissingExtra("delivery", needed_for=f"Sending to {self.address.partition('://')[0]}") from None
        except DiscreetError:
            raise
        except Exception as error:
            raise DataError(
                f"{name} could not be put to {self.shown} ({reason(error)}).",
                remedy="Check address, rights and network; nothing was recorded as sent.",
            ) from None

    @property
    def shown(self) -> str:
        """The address without a password."""
        scheme, separator, rest = self.address.partition("://")
        access, at, place = rest.rpartition("@")
        return f"{scheme}://{access.partition(':')[0]}@{place}" if separator and at else self.address


@dataclass(frozen=True)
class Sent:
    """A copy that was put where its recipient fetches it."""

    recipient: str
    file: str
    target: str
    digest: str
    """The SHA-256 of what was put there."""
    encrypted: bool

    to_dict = json_of()


def send(
    registry: Registry,
    name: str,
    recipient: str,
    *,
    folder: Path,
    target: DeliveryTarget,
    keys: tuple[str, ...] = (),
    plain: bool = False,
    actor: str,
) -> Sent:
    """Pack, encrypt and sign a delivered copy, put it there, and record that.

    Only what the ledger knows as delivered is sent, and nothing unencrypted leaves this machine unless `plain`.
    """
    kept = registry.require(name)
    registry.refuse_delivery(kept, recipient)
    copy = kept.copy(recipient)
    content = packed(folder / recipient)
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / recipient).glob("data.*")}
    if copy.file not in digests:
        raise Refused(
            f"What is in {folder}/{recipient} is not what was written down as delivered.",
            remedy="Give the folder that the release was written to, or write it again.",
        )
    if target.remote and not keys and not plain:
        raise Refused(
            "A copy that leaves this machine is encrypted for its recipient.",
            remedy="Give the recipient's public key of age (--key age1...), or allow it as it is (--plain).",
        )
    whole = encrypted(content, keys) if keys else content
    file = f"{name}-{kept.version}-{recipient}".replace(" ", "_") + ENDING + (".age" if keys else "")
    now = timestamp(utc_now())
    comment = f"release:{name} version:{kept.version} file:{file} time:{now}"
    target.put(file, whole)
    target.put(f"{file}.minisig", Signer.of(registry).signature(whole, comment=comment).encode())
    sent = Sent(recipient, file, target.shown, hashlib.sha256(whole).hexdigest(), bool(keys))
    registry.ledger.record(
        actor=actor,
        event="releases.sent",
        subject=f"{kept.subject}/recipient:{recipient}",
        details={
            "file": sent.digest,
            "target": sent.target[:400],
            "encrypted": sent.encrypted,
            "manifest": kept.digest,
        },
    )
    return sent
