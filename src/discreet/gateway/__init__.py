"""The PostgreSQL gateway: clients connect to it as if it were the server.

`protocol`: framing, messages and login, without I/O. `session`: the state machines of one session, without I/O, and rows that
are held for a decision. `net`: sockets. `catalog`: what the database says about itself. `analysis`, on `discreet.sql`: what a
statement reads. `disclosure`: what a result discloses, and of whom. `enforcement`: limits, decisions and audit; its
`interface` is the seam to the protocol.
"""

from discreet.gateway.enforcement.interface import (
    Allow,
    Bind,
    Call,
    Execute,
    Hold,
    Judge,
    Keep,
    Mask,
    Open,
    Parse,
    Query,
    Release,
    Watch,
    Who,
)
from discreet.gateway.net.server import Gateway, Settings
from discreet.gateway.net.transport import Upstream, parse_upstream
from discreet.gateway.protocol.messages import Column
from discreet.gateway.session.held_rows import Cells, Held
from discreet.gateway.session.state import Limits
from discreet.sql.statement_kinds import Refuse

__all__ = [
    "Allow",
    "Bind",
    "Call",
    "Cells",
    "Column",
    "Execute",
    "Gateway",
    "Held",
    "Hold",
    "Judge",
    "Keep",
    "Limits",
    "Mask",
    "Open",
    "Parse",
    "Query",
    "Refuse",
    "Release",
    "Settings",
    "Upstream",
    "Watch",
    "Who",
    "parse_upstream",
]
