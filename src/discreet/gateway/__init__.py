"""The PostgreSQL gateway: clients connect to it as if it were the server.

`protocol`: framing, messages and login, without I/O. `session`: the state machine of one session, without I/O. `net`: sockets.
`analysis`, on `discreet.sql`: what a statement asks, of whom, and what is run in its place. `statistics`: noise, audit and
budget. `enforcement`: limits, decisions and records; its `verdicts` are the seam to the session.
"""

from discreet.gateway.enforcement.verdicts import Allow, Bind, Call, Judge, Open, Parse, Watch, Who
from discreet.gateway.enforcement.verdicts import QueryText as Query
from discreet.gateway.net.server import Gateway
from discreet.gateway.net.settings import GatewaySettings as Settings
from discreet.gateway.net.transport import Upstream, parse_upstream
from discreet.gateway.refusals import Refuse
from discreet.gateway.session.state import MemoryLimits as Limits

__all__ = [
    "Allow",
    "Bind",
    "Call",
    "Gateway",
    "Judge",
    "Limits",
    "Open",
    "Parse",
    "Query",
    "Refuse",
    "Settings",
    "Upstream",
    "Watch",
    "Who",
    "parse_upstream",
]
