"""From the server to the client, unseen: answers of which nothing is held go on in one pass over their bytes."""

from __future__ import annotations

from discreet.gateway import expected as owed
from discreet.gateway.expected import Entry
from discreet.gateway.protocol.framing import FEW, LENGTH, Malformed
from discreet.gateway.session.state import IDLE, Conversation

_NOTEWORTHY = frozenset((b"BE", b"ST", b"DE", b"DI"))
"""How tags begin that change what is known of the session: BEGIN, START TRANSACTION, DEALLOCATE, DISCARD ALL."""


class Passing(Conversation):
    """What of the server's answers is only counted off against what is owed."""

    def _pass_unseen(self) -> None:
        """One pass over the messages that go to the client whatever stands in them: answers of which nothing is held."""
        expected, (data, begin) = self._expected, self._server.window()
        pos, rows, last = begin, 0, len(data) - 5
        while pos <= last and expected and rows < FEW:
            head = expected[0]
            meaning = head.unseen.get(data[pos])
            end = pos + 1 + LENGTH.unpack_from(data, pos + 1)[0]
            if meaning is None or head.copying or not pos + 5 <= end <= last + 5:
                break
            if meaning == owed.MORE:
                rows += 1
            elif meaning == owed.STEP:
                head.number += 1
            elif meaning == owed.READY:
                self._ready(data[pos + 5 : end], head)
            elif meaning == owed.DONE or data[pos + 5 : pos + 7] not in _NOTEWORTHY:
                if head.kind not in owed.ENDS_WITH_READY:
                    self._pop()
            else:
                break
            pos = end
        if pos > begin:
            self.to_client.append(self._server.take(pos))
            if expected and expected[0].kind == owed.REFUSAL:
                self._settle()

    def _ready(self, body: bytes, head: Entry) -> None:
        if len(body) != 1:
            raise Malformed
        self._pop()
        self.status = body[0]
        self._began = self._copying = False
        if self.status == IDLE and self._portals:  # portals do not outlive their transaction
            for name in [name for name, portal in self._portals.items() if portal.serial < head.serial]:
                del self._portals[name]
