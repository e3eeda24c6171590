"""A real server on a port of loopback that was free."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi import FastAPI

from discreet.web import Settings, create_app
from discreet.web.framework.app import Server, configuration, listen
from tests.web.client import CHEAP, make_accounts


@contextmanager
def serving(folder: Path) -> Iterator[tuple[FastAPI, str]]:
    """The application and its address, with one account per role, named like the role."""
    ear = listen("127.0.0.1", 0)
    origin = f"http://127.0.0.1:{ear.getsockname()[1]}"
    app = create_app(Settings(store=str(folder / "store.db"), data=folder / "data", origin=origin, hashing=CHEAP))
    make_accounts(app)
    ready = threading.Event()
    server = Server(configuration(app), ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [ear]}, daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield app, origin
    finally:
        server.should_exit = True
        thread.join(20)
        ear.close()
