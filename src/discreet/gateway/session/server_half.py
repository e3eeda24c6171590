"""Server half of a session: match replies with requests, hold rows, pass others."""

from __future__ import annotations

from typing import Any

from discreet.gateway.enforcement.verdicts import STUMBLED, Closed, Keep, MaskCells, ReleaseRows
from discreet.gateway.protocol.framing import FEW, LENGTH, ROWS, Frame, Malformed, few_rows
from discreet.gateway.protocol.messages import (
    COPY_FAIL,
    ResultColumn,
    complete,
    copy_formats,
    described,
    error,
    parameter_status,
    row_of,
)
from discreet.gateway.refusals import Refuse
from discreet.gateway.session import state as owed
from discreet.gateway.session.held_rows import HeldResult, RowCollector, without_cells, without_rows
from discreet.gateway.session.state import IDLE, Conversation, PendingReply, encoding_of

# From the server to the client, unseen: answers of which nothing is held go on in one pass over their bytes.
_NOTEWORTHY = frozenset((b"BE", b"ST", b"DE", b"DI"))
"""How tags begin that change what is known of the session: BEGIN, START TRANSACTION, DEALLOCATE, DISCARD ALL."""


_RUNS = (owed.QUERY, owed.EXECUTE, owed.PIPELINE)
_ANSWERS = {ord("1"): owed.PARSE, ord("2"): owed.BIND, ord("3"): owed.CLOSE, ord("V"): owed.CALL}
"""By the letter of an answer: what it answers."""
_COUNTED = ("SELECT", "FETCH", "COPY")  # tags whose number is that of the rows given out
_DECISIONS = (ReleaseRows, Keep, MaskCells, Refuse)
_FORGETS = ("DEALLOCATE", "DISCARD ALL")  # after these, names of statements mean nothing


class ServerHalf(Conversation):
    """The server's half of a session."""

    def _pass_unseen(self) -> None:
        """Pass on, in one go, answers of which nothing is held."""
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
            if expected and expected[0].kind in (owed.REFUSAL, owed.OWN):
                self._settle()

    def _ready(self, body: bytes, head: PendingReply) -> None:
        if len(body) != 1:
            raise Malformed
        self._pop()
        self.status = body[0]
        self._began = self._copying = False
        if self.status == IDLE:
            ended = getattr(self.watch, "transaction_ended", None)
            if ended is not None:
                ended()
        if self.status == IDLE and self._portals:  # portals do not outlive their transaction
            for name in [name for name, portal in self._portals.items() if portal.serial < head.serial]:
                del self._portals[name]

    def _advance_upstream(self) -> None:
        while not self.upstream_waits and not self.over:
            if self._expected:
                head = self._expected[0]
                if head.hold is None:
                    self._pass_unseen()
                elif self._holding is None and self._judge_few(head):
                    continue
            frame = self._server.next()
            if frame is None:
                return
            self._answered(frame)
            if self._expected and self._expected[0].kind in (owed.REFUSAL, owed.OWN):
                self._settle()

    def _judge_few(self, head: PendingReply) -> bool:
        """Judge a few rows that came with their end: the usual result."""
        columns = self._columns(head)
        if columns is None or head.copying or head.kind not in _RUNS or self._is_refused(head):
            return False
        data, begin = self._server.window()
        places, end = few_rows(data, begin)
        size = end - begin
        close = end + 1 + LENGTH.unpack_from(data, end + 1)[0] if places else 0
        if not end + 5 <= close <= len(data) or size > self._limits.held or size + 8 * FEW > self._room.free:
            return False
        chunk = head.portal.chunks if head.portal else 0
        tag = data[end + 5 : close - 1].decode("ascii", "replace")
        held = HeldResult(data[begin:end], places, columns, False, (), head.number, chunk, True, tag)
        token = head.hold.token if head.hold else None
        answer = self._consult(self.watch, "result", token, held)
        whole = self._server.take(close)
        if type(answer) is ReleaseRows and not answer.notice:
            self.to_client.append(whole)
            self.deliveries.append((token, len(places)))
            self._next_result(head)
        else:
            self._holding = RowCollector()
            self._hold(held.data, places)
            self._go_on(answer, self._decided, "result", (token, held), head, held, Frame(0x43, data[end:close]))
        return True

    def _answered(self, frame: Frame) -> None:
        kind = frame.kind
        if self._expected and self._expected[0].kind == owed.LOOKUP and kind not in (0x4E, 0x41, 0x53):
            self._looked_up(frame, self._expected[0])
        elif kind == 0x54 and self._expected:  # T, the first that comes where rows will be held
            self._description(frame, self._expected[0])
        elif kind == 0x4E:  # N
            self._emit(self._reported(frame, notice=True))
        elif kind == 0x41:  # A: a notification comes whenever it likes
            self._emit(frame.raw)
        elif kind == 0x53:  # S
            name, value = parameter_status(frame.body)
            if name == "client_encoding":
                self._encoding = encoding_of(value)
            try:
                self.watch.changed(name, value)
            except Exception:
                self.watch = Closed()  # it may have missed that a user became another one
            self._emit(frame.raw)
        elif kind == 0x45:  # E
            self._failed(frame)
        elif not self._expected:
            self._end("The server said something that nobody asked for.")
        elif kind not in ROWS:
            self._answer(frame, self._expected[0])
        else:
            head = self._expected[0]
            if head.kind not in _RUNS or (kind == 0x64) != head.copying:
                self._end("The server gave out rows that nobody asked for.")
            elif head.hold is None:
                self.to_client.append(frame.raw)
            elif not self._is_refused(head):
                self._holding = self._holding or RowCollector()
                self._hold(frame.raw, frame.starts if frame.starts is not None else ())

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

    def _answer(self, frame: Frame, head: PendingReply) -> None:
        kind = frame.kind
        if kind == 0x5A:  # Z
            if head.kind not in owed.ENDS_WITH_READY:
                self._end("The server was ready before it had answered.")
                return
            self._ready(frame.body, head)
            self.to_client.append(frame.raw)
        elif kind in _ANSWERS and head.kind == _ANSWERS[kind]:
            self._emit(frame.raw)
            if kind != 0x56:  # V: ReadyForQuery follows
                self._pop()
        elif kind in (0x6E, 0x74) and head.kind == owed.DESCRIBE:  # n, t
            if not head.silent:
                self._emit(frame.raw)
            if frame.kind == 0x6E:
                self._pop()
        elif head.kind in _RUNS and kind in (0x43, 0x49, 0x73):  # C, I, s
            self._ended(frame, head)
        elif head.kind in _RUNS and kind in (0x47, 0x48, 0x63):  # G, H, c
            self._copy(frame, head)
        else:
            self._end("The server answered something else than was asked.")

    def _failed(self, frame: Frame) -> None:
        head = self._expected[0] if self._expected else None
        held = self._drop_held()
        self.to_client.extend(held.others() if held else ())
        if head is not None and head.kind == owed.FAILURE:
            self._abandon()
            return
        draining = head is not None and head.kind == owed.QUERY and head.refused is not None and head.silent
        if not draining:
            self.to_client.append(self._reported(frame, notice=False))
        self._copying = False
        if head is None or head.kind in owed.ENDS_WITH_READY:
            for undo in reversed(head.steps[head.number :] if head else ()):
                undo()
            return
        self._abandon()

    def _description(self, frame: Frame, head: PendingReply) -> None:
        if head.kind not in (owed.DESCRIBE, owed.QUERY):
            self._end("The server described what it was not asked to.")
            return
        if not head.silent:
            self._emit(frame.raw)
        hold = head.hold
        if head.kind == owed.DESCRIBE:
            self._pop()
        if hold is None or head.refused:
            return
        columns = described(frame.body, self._encoding or "utf-8")
        if head.portal is not None:
            head.portal.columns = columns
        else:
            head.columns = columns
        answer = self._consult(self.watch, "described", hold.token, columns)
        if answer is not None:
            self._go_on(answer, self._seen, "described", (hold.token, columns), head)

    def _seen(self, answer: Any, head: PendingReply) -> None:
        if answer is None:
            return
        refused = answer if isinstance(answer, Refuse) else STUMBLED
        if head.portal is not None:
            head.portal.refused = refused
        else:
            head.refused = refused

    def _is_refused(self, head: PendingReply) -> bool:
        if head.refused is None and head.portal is not None:
            head.refused = head.portal.refused
        return head.refused is not None

    def _copy(self, frame: Frame, head: PendingReply) -> None:
        if frame.kind == 0x47 and head.silent:  # G
            self.to_upstream.append(COPY_FAIL)  # the client was refused, and will send nothing
        elif frame.kind == 0x47:
            # While data come in, the server ignores Sync; one that was sent already will not be answered.
            self._copying = True
            self._barrier = None
            if head.kind == owed.PIPELINE:
                head.kind, head.unseen = owed.EXECUTE, owed.UNSEEN[owed.EXECUTE]
            while head.kind == owed.EXECUTE and len(self._expected) > 1 and self._expected[1].kind == owed.SYNC:
                del self._expected[1]
            self._emit(frame.raw)
        elif frame.kind == 0x48 and self._holding is not None:
            self._end("The server began to copy in the middle of a result.")
        elif frame.kind == 0x48:  # H
            head.copying = True
            head.formats = copy_formats(frame.body)
            if not head.silent:
                self._emit(frame.raw)
            if head.hold is not None and not self._is_refused(head):
                self._holding = RowCollector()
        elif head.copying and not (head.hold is not None and self._is_refused(head)):
            self._emit(frame.raw)

    def _ended(self, frame: Frame, head: PendingReply) -> None:
        tag = frame.body[:-1].decode("ascii", "replace") if frame.kind == 0x43 else ""
        if tag in ("BEGIN", "START TRANSACTION"):
            self._began = True
        elif tag.startswith(_FORGETS):
            self._statements.clear()
            self._remembered = 0
            self._generation += 1
        columns = self._columns(head)
        gives = columns is not None or head.copying or self._holding is not None
        if head.silent:
            return  # refused before; the rest of the text is swallowed
        if head.hold is None or not gives or frame.kind == 0x49:
            self._emit(frame.raw)
            self._next_result(head)
        elif self._is_refused(head):
            self._deny(head, head.refused or STUMBLED)
        else:
            data, starts = (self._holding or RowCollector()).held()
            held = HeldResult(
                data,
                starts,
                None if head.copying else columns,
                head.copying,
                head.formats,
                head.number,
                head.portal.chunks if head.portal else 0,
                frame.kind == 0x43,
                tag,
            )
            answer = self._consult(self.watch, "result", head.hold.token, held)
            self._go_on(answer, self._decided, "result", (head.hold.token, held), head, held, frame)

    @staticmethod
    def _columns(head: PendingReply) -> tuple[ResultColumn, ...] | None:
        return head.portal.columns if head.portal is not None else head.columns

    def _decided(self, answer: Any, head: PendingReply, held: HeldResult, frame: Frame) -> None:
        decision = answer if isinstance(answer, _DECISIONS) else STUMBLED
        sent, rows = b"", held.rows
        try:
            if isinstance(decision, Keep):
                sent, rows = without_rows(held, decision.rows), int(decision.rows.sum())
            elif isinstance(decision, MaskCells):
                sent = without_cells(held, decision.cells)
        except Exception:
            decision = STUMBLED
        if isinstance(decision, Refuse):
            self._deny(head, decision)
            return
        holding = self._drop_held()
        if isinstance(decision, ReleaseRows):
            self.to_client.extend(holding.all() if holding else ())
        else:
            self.to_client.extend((sent, *(holding.others() if holding else ())))
        if decision.notice:
            self.to_client.append(error(severity="NOTICE", sqlstate="00000", message=decision.notice))
        word = held.tag.partition(" ")[0]
        counts = rows != held.rows and word in _COUNTED  # the end says how many rows went
        self.to_client.append(complete(f"{word} {rows}") if counts else frame.raw)
        self.deliveries.append((head.hold.token if head.hold else None, rows))
        self._next_result(head)

    def _deny(self, head: PendingReply, refuse: Refuse) -> None:
        """Answer with an error; what the server says until ready or Sync is swallowed."""
        self._drop_held()
        self._tell(refuse)
        if head.kind == owed.QUERY:
            head.refused, head.silent = refuse, True
            return
        self._pop()
        if not any(entry.kind == owed.SYNC for entry in self._expected):
            self._fail(undo=head.hold is not None and head.hold.undo)

    def _next_result(self, head: PendingReply) -> None:
        if head.portal is not None:
            head.portal.chunks += 1
        if head.kind == owed.EXECUTE:
            self._pop()
            return
        head.number += 1
        head.columns, head.copying = None, False
