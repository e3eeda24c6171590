"""The PostgreSQL gateway: clients connect to it as if it were the server.

`wire`, `messages`, `startup`: the protocol, without I/O. `entrance` (with `scram`) and `session` (on `asking`, `answering`,
`passing`, `conversation` and `expected`): state machines of one connection, without I/O. `holding`: rows that wait for a
decision. `judge`: the seam to whoever decides. `sides`, `arriving`, `connection`, `upstream`, `server`, `loops`: the thin part
that talks to the network.

The judge that governs is `governing.Governor`. What a text may do: `lexing`, `statements`, `understanding`. What it reads:
`shape` with `naming`, `projecting`, `associating`, giving a `reading`. What the database is: `own`, `catalog`, `views`,
`explained`, `describing`, `histograms`. What a result tells: `origin`, `decoding`, `entities`, `publishing`, `telling`,
`publication`. What becomes of it: `limits`, `decision`, `accounts`, `runs`, `watching`, `judging`, `noting`, `redaction`, `words`.
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
from discreet.gateway.protocol.messages import Column
from discreet.gateway.session.held_rows import Cells, Held
from discreet.gateway.session.state import Limits
from discreet.gateway.upstream import Upstream, parse_upstream
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
