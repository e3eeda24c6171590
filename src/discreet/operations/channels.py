"""Channels to people and other machines: a folder, a webhook, e-mail.

What goes through them says what waits or has happened in numbers and names of accounts, with the address of a page; never a
value of a person's record.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import secrets
import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from discreet.errors import UsageError

PATIENCE = 15.0
"""Seconds that another machine has for each answer."""
WEBHOOK_SECRET = "DISCREET_WEBHOOK_SECRET"  # noqa: S105 - the name of the variable
SMTP_PASSWORD = "DISCREET_SMTP_PASSWORD"  # noqa: S105 - the name of the variable
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class NotDelivered(Exception):
    """The other side did not take a message."""


@dataclass(frozen=True)
class Notification:
    """What is to be told."""

    key: str
    """The same for the same thing, so that it is told once."""
    kind: str
    subject: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same for programs."""

    def to_json(self) -> bytes:
        """As a webhook gets it."""
        content = {"kind": self.kind, "key": self.key, "subject": self.subject, "text": self.text, **self.facts}
        return json.dumps(content, sort_keys=True).encode()


class Channel(Protocol):
    """Where messages go."""

    @property
    def name(self) -> str:
        """What logs and the ledger call it; holds no secret."""

    def send(self, message: Notification) -> None:
        """Deliver, or raise NotDelivered."""


@dataclass(frozen=True)
class FolderChannel:
    """A folder that other machines collect: one file per message, never replaced."""

    folder: Path

    @property
    def name(self) -> str:
        """The folder."""
        return f"folder {self.folder.name}"

    def send(self, message: Notification) -> None:
        """Write the file under its name at once, whole."""
        target = self.folder / f"{message.key.replace('/', '-').replace(':', '-')}.json"
        draft = self.folder / f".{secrets.token_hex(8)}"
        content = message.to_json() if "head" not in message.facts else _head_line(message)
        try:
            with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(draft, target)
            except FileExistsError:
                pass  # another process told it
            finally:
                draft.unlink()
        except OSError as error:
            raise NotDelivered(f"the folder cannot be written ({error.strerror})") from None


def _head_line(message: Notification) -> bytes:
    return json.dumps(message.facts["head"], sort_keys=True, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True)
class WebhookChannel:
    """An address that takes signed JSON by POST; redirects are not followed."""

    url: SplitResult
    secret: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The machine."""
        return f"webhook {self.url.hostname}"

    def send(self, message: Notification) -> None:
        """Post it; any answer but 2xx is a failure."""
        body = message.to_json()
        headers = {"Content-Type": "application/json", "User-Agent": "discreet", "Idempotency-Key": message.key}
        if self.secret:
            headers["X-Discreet-Signature"] = (
                "sha256=" + hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
            )
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.url.hostname or "", self.url.port, timeout=PATIENCE)
        path = (self.url.path or "/") + (f"?{self.url.query}" if self.url.query else "")
        try:
            connection.request("POST", path, body, headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise NotDelivered(f"it cannot be reached ({type(error).__name__})") from None
        finally:
            connection.close()
        if not 200 <= status < 300:
            raise NotDelivered(f"it answered {status}")


@dataclass(frozen=True)
class MailChannel:
    """An e-mail address, by way of a mail server."""

    to: str
    server: SplitResult
    sender: str
    password: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The address."""
        return f"mail {self.to}"

    def send(self, message: Notification) -> None:
        """Hand it to the mail server; encrypted, except on this machine."""
        mail = EmailMessage()
        mail["Subject"], mail["From"], mail["To"] = message.subject, self.sender, self.to
        mail["Message-ID"] = f"<{hashlib.sha256(message.key.encode()).hexdigest()[:32]}@discreet>"
        mail.set_content(message.text)
        if "head" in message.facts:
            mail.add_attachment(_head_line(message), maintype="application", subtype="json", filename="head.json")
        host, local = self.server.hostname or "", self.server.hostname in LOOPBACK
        try:
            if self.server.scheme == "smtps":
                client: smtplib.SMTP = smtplib.SMTP_SSL(
                    host, self.server.port or 465, timeout=PATIENCE, context=ssl.create_default_context()
                )
            else:
                client = smtplib.SMTP(host, self.server.port or (25 if local else 587), timeout=PATIENCE)
            with client:
                if self.server.scheme == "smtp" and not local:
                    client.starttls(context=ssl.create_default_context())
                if self.server.username:
                    client.login(unquote(self.server.username), self.password)
                client.send_message(mail)
        except (OSError, smtplib.SMTPException) as error:
            raise NotDelivered(f"the mail server did not take it ({type(error).__name__})") from None


def channel_of(text: str, *, smtp: str | None = None, sender: str | None = None) -> Channel:
    """The channel that an operator names: a folder, an https address or `mailto:`.

    >>> channel_of("https://hooks.example/discreet").name, channel_of("mailto:dpo@example.org", smtp="smtp://mx.example").name
    ('webhook hooks.example', 'mail dpo@example.org')
    """
    parts = urlsplit(text)
    if parts.scheme == "mailto":
        address = parseaddr(parts.path)[1] if text.isprintable() else ""
        server = urlsplit(smtp or "")
        if "@" not in address or address != parts.path:
            raise UsageError("That is not an e-mail address.", remedy="Write it as mailto:office@hospital.example.")
        if server.scheme not in ("smtp", "smtps") or not server.hostname:
            raise UsageError(
                "E-mail needs a mail server.", remedy="Give --smtp smtp://USER@HOST:587, or smtps://USER@HOST."
            )
        return MailChannel(address, server, sender or address, os.environ.get(SMTP_PASSWORD, ""))
    if parts.scheme in ("https", "http"):
        if not parts.hostname or parts.username or (parts.scheme == "http" and parts.hostname not in LOOPBACK):
            raise UsageError("That address is not one for a webhook.", remedy="Give it as https://HOST/PATH.")
        return WebhookChannel(parts, os.environ.get(WEBHOOK_SECRET, ""))
    folder = Path(text).absolute()
    if parts.scheme or not folder.is_dir():
        raise UsageError(
            f"There is no folder {folder}.", remedy="Give a folder that exists, https://HOST/PATH, or mailto:ADDRESS."
        )
    return FolderChannel(folder)
