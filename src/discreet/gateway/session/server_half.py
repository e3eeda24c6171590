"""Server half of a session: match replies with requests, and pass them on."""

from __future__ import annotations

from discreet.gateway.enforcement.verdicts import STUMBLED
from discreet.gateway.protocol.framing import LENGTH, ROWS, Frame, Malformed, walk
from discreet.gateway.protocol.messages import parameter_status, row_of
from discreet.gateway.session import state as owed
from discreet.gateway.session.state import IDLE, Conversation, PendingReply, encoding_of

_NOTEWORTHY = frozenset((b"BE", b"ST", b"DE", b"DI"))
"""How tags begin that change what is known of the session: BEGIN, START TRANSACTION, DEALLOCATE, DISCARD ALL."""
_RUNS = (owed.QUERY, owed.EXECUTE, owed.PIPELINE)
_FORGETS = ("DEALLOCATE", "DISCARD ALL")  # after these, names of statements mean nothing


class ServerHalf(Conversation):
    """The server's half of a session."""

    def _advance_upstream(self) -> None:
        while not self.over:
            while self._pass_unseen():
                self._settle()
            frame = self._server.next()
            if frame is None:
                return
            self._answered(frame)
            self._settle()

    def _pass_unseen(self) -> bool:
        """Pass on, in one go, what need not be looked at; whether there was any."""
        expected, (data, begin) = self._expected, self._server.window()
        pos, last = begin, len(data) - 5
        while pos <= last and expected:
            head = expected[0]
            meaning = head.unseen.get(data[pos])
            if meaning is None:
                break
            end = walk(data, pos) if data[pos] in ROWS else pos + 1 + LENGTH.unpack_from(data, pos + 1)[0]
            if not pos + 5 <= end <= last + 5:
                break
            if meaning == owed.STEP:
                head.number += 1
            elif meaning == owed.READY:
                self._ready(data[pos + 5 : end], head)
            elif meaning == owed.DONE or (meaning == owed.ENDED and data[pos + 5 : pos + 7] not in _NOTEWORTHY):
                if head.kind not in owed.ENDS_WITH_READY:
                    self._pop()
            elif meaning == owed.ENDED:
                break
            pos = end
        if pos > begin:
            self.to_client.append(self._server.take(pos))
        return pos > begin

    def _ready(self, body: bytes, head: PendingReply) -> None:
        if len(body) != 1:
            raise Malformed
        self._pop()
        self.status = body[0]
        self._began = self._copying = False
        if self.status == IDLE:
            self.watch.transaction_ended()
            if self._portals:  # portals do not outlive their transaction
                for name in [name for name, portal in self._portals.items() if portal.serial < head.serial]:
                    del self._portals[name]

    def _answered(self, frame: Frame) -> None:
        """A message that must be looked at."""
        kind, head = frame.kind, self._expected[0] if self._expected else None
        if head is not None and head.kind == owed.LOOKUP and kind not in (0x4E, 0x41, 0x53):
            self._looked_up(frame, head)
        elif kind in (0x4E, 0x41):  # N, A: a notice or notification comes whenever it likes
            self.to_client.append(frame.raw)
        elif kind == 0x53:  # S
            name, value = parameter_status(frame.body)
            if name == "client_encoding":
                self._encoding = encoding_of(value)
            self.to_client.append(frame.raw)
        elif kind == 0x45:  # E
            self._failed(frame)
        elif head is None:
            self._end("The server said something that nobody asked for.")
        elif head.kind not in _RUNS or kind not in (0x43, 0x47, *ROWS):  # C, G, or parts of a large row
            self._end("The server answered something else than was asked.")
        elif kind in ROWS:
            self.to_client.append(frame.raw)
        elif kind == 0x43:
            self._ended(frame, head)
        else:
            self._copy_in(frame, head)

    def _looked_up(self, frame: Frame, head: PendingReply) -> None:
        """The answer to a question of the gateway's own, which the client does not see."""
        if frame.kind == 0x44:  # D
            head.found = tuple(None if cell is None else cell.decode("utf-8", "replace") for cell in row_of(frame.body))
        elif frame.kind == 0x45:  # E
            head.found = None
            head.refused = STUMBLED
        elif frame.kind == 0x33:  # 3: its portal and its statement are closed
            head.number += 1
        ended = frame.kind == 0x5A if head.simple else frame.kind == 0x45 or head.number == 2
        if not ended:
            return
        if head.simple:
            self._ready(frame.body, head)
        else:
            self._pop()
        if head.done is not None:
            head.done(None if head.refused is not None else head.found)

    def _failed(self, frame: Frame) -> None:
        head = self._expected[0] if self._expected else None
        if head is not None and head.kind == owed.FAILURE:
            self._abandon()
            return
        self.to_client.append(frame.raw)
        self._copying = False
        if head is None or head.kind in owed.ENDS_WITH_READY:
            for undo in reversed(head.steps[head.number :] if head else ()):
                undo()
            return
        self._abandon()

    def _copy_in(self, frame: Frame, head: PendingReply) -> None:
        # While data come in, the server ignores Sync; one that was sent already will not be answered.
        self._copying = True
        self._barrier = None
        if head.kind == owed.PIPELINE:
            head.kind, head.unseen = owed.EXECUTE, owed.UNSEEN[owed.EXECUTE]
        while head.kind == owed.EXECUTE and len(self._expected) > 1 and self._expected[1].kind == owed.SYNC:
            del self._expected[1]
        self.to_client.append(frame.raw)

    def _ended(self, frame: Frame, head: PendingReply) -> None:
        tag = frame.body[:-1].decode("ascii", "replace")
        if tag in ("BEGIN", "START TRANSACTION"):
            self._began = True
        elif tag.startswith(_FORGETS):
            self._statements.clear()
            self._remembered = 0
            self._generation += 1
        self.to_client.append(frame.raw)
        if head.kind == owed.EXECUTE:
            self._pop()
