"""A gateway in a thread of its own, beside the test that talks to it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from discreet.gateway import Gateway, Settings
from discreet.gateway.net.server import loop_factory

DEFAULT = object()
"""The event loop that the command uses."""


class Running:
    """Starts with the `with` block and ends with it."""

    def __init__(self, settings: Settings, *, factory: Any = DEFAULT) -> None:
        self._settings = settings
        self._factory = loop_factory() if factory is DEFAULT else factory
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=self._factory) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with Gateway(self._settings) as self.gateway:
            self.port = self.gateway.port
            self._ready.set()
            await self._stop.wait()

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def url(self, user: str = "postgres", *, password: str = "", more: str = "") -> str:
        who = f"{user}:{password}" if password else user
        return f"postgresql://{who}@127.0.0.1:{self.port}/postgres{more}"

    def do(self, work: Callable[[], Any]) -> Any:
        """Run something in the gateway's own thread."""

        async def once() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(once(), self.loop).result(10)


def wait_for(true: Callable[[], Any], *, seconds: float = 10) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
