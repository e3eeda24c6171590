"""Places that messages go to: a mail server and a web server that really run, on loopback, and remember what came."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword

from tests.servers import free_port


@dataclass
class Hook:
    """A web server that takes messages; `statuses` are what it answers before it answers 204."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    came: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What came, in order."""
        return [json.loads(body) for _, body in self.came]


@contextmanager
def web_hook(*statuses: int) -> Iterator[Hook]:
    """A web server for the length of a block."""
    hook = Hook(statuses=list(statuses))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.came.append((dict(self.headers), body))
            self.send_response(hook.statuses.pop(0) if hook.statuses else 204)
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_port}/hooks/discreet?team=1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Mails:
    """A mail server, and what came."""

    url: str
    came: list[EmailMessage] = field(default_factory=list)
    to: list[list[str]] = field(default_factory=list)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd asks for it
        """Take a mail."""
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        found = message_from_bytes(content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        self.came.append(found)
        self.to.append(envelope.rcpt_tos)
        return "250 OK"


@contextmanager
def mail_server(password: str | None = None) -> Iterator[Mails]:
    """A mail server for the length of a block; with a password it takes mail of `office` only."""
    mails, port = Mails(""), free_port()
    mails.url = f"smtp://{'office@' if password else ''}127.0.0.1:{port}"

    def check(_server: Any, _session: Any, _envelope: Any, _mechanism: str, given: Any) -> AuthResult:
        known = isinstance(given, LoginPassword) and given == LoginPassword(b"office", (password or "").encode())
        return AuthResult(success=known)

    options = {"authenticator": check, "auth_required": True, "auth_require_tls": False} if password else {}
    controller = Controller(mails, hostname="127.0.0.1", port=port, **options)
    controller.start()
    try:
        yield mails
    finally:
        controller.stop()
