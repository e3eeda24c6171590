"""Events of requests: counted, and logged with id, duration and user.

A line never holds a path, which may be a one-time link, nor anything that was sent: it names the route, and the object by number.
"""

from __future__ import annotations

import re
import secrets
import sys

from starlette.types import Scope

from discreet.operations.event_log import MESSAGES, EventLog
from discreet.operations.metrics import Metrics
from discreet.web.framework.settings import Operations

LOGGED = MESSAGES | {"request", "method", "route", "object", "status", "seconds", "user", "token", "address", "fault"}
"""What a line may say."""
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")


def request_id(scope: Scope) -> str:
    """The id that a proxy gave to a request, if it is a plain word; else a new one."""
    given: list[bytes] = [value for name, value in scope["headers"] if name == b"x-request-id"]
    if len(given) == 1 and REQUEST_ID.fullmatch(given[0]):
        return given[0].decode("ascii")
    return secrets.token_hex(8)


class RequestEvents(Metrics):
    """Counts what is asked for, and writes it down where there is a file."""

    def __init__(self, operations: Operations) -> None:
        super().__init__("discreet_web_")
        place = sys.stderr if operations.log == "-" else operations.log
        self.log = EventLog(place, named=LOGGED)

    def answered(self, scope: Scope, request: str, status: int, seconds: float, fault: str | None) -> None:
        """A request was answered."""
        context = scope.get("state", {}).get("context")
        route = "none" if context is None else context.route.path
        self.count("requests", method=scope["method"], route=route, status=str(status))
        if context is not None and context.route.kind == "asset":
            return
        self.time("request_seconds", seconds, kind="none" if context is None else context.route.kind)
        number = scope.get("path_params", {}).get("number")
        self.log.write(
            "request",
            request=request,
            method=scope["method"],
            route=route,
            object=number if isinstance(number, str) and number.isdigit() else None,
            status=status,
            seconds=round(seconds, 4),
            user=None if context is None or context.account is None else context.account.name,
            token=None if context is None or context.token is None else context.token.id,
            address=scope["client"][0] if scope.get("client") else None,
            fault=fault,
        )
