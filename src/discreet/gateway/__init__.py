"""The PostgreSQL gateway: clients connect to it as if it were the server.

`protocol`: framing, messages and login, without I/O. `session`: the state machines of one session, without I/O, and rows that
are held for a decision. `net`: sockets. `admin_connection`, `introspection`: what the database says about itself. `analysis`,
on `discreet.sql`: what a statement reads, and what a result discloses, and of whom. `enforcement`: limits, decisions and audit;
its `interface` is the seam to the protocol.
"""

from discreet.gateway.enforcement.verdicts import Allow, Bind, Call, Execute, Judge, Keep, Open, Parse, Watch, Who
from discreet.gateway.enforcement.verdicts import HoldRows as Hold
from discreet.gateway.enforcement.verdicts import MaskCells as Mask
from discreet.gateway.enforcement.verdicts import QueryText as Query
from discreet.gateway.enforcement.verdicts import ReleaseRows as Release
from discreet.gateway.net.server import Gateway
from discreet.gateway.net.settings import GatewaySettings as Settings
from discreet.gateway.net.transport import Upstream, parse_upstream
from discreet.gateway.protocol.messages import ResultColumn as Column
from discreet.gateway.refusals import Refuse
from discreet.gateway.session.held_rows import Cells
from discreet.gateway.session.held_rows import HeldResult as Held
from discreet.gateway.session.state import MemoryLimits as Limits

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
