"""The web application: every route with its permission, and the API as it describes itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.web import Settings, create_app
from tests.house.surface.schema import flat
from tests.house.surface.snapshot import Items
from tests.web.client import CHEAP, ORIGIN, make_accounts, signed_in


def web(folder: Path) -> Items:
    """Pages and API of an application on an empty store in a folder."""
    app = create_app(Settings(store=str(folder / "web.db"), data=folder / "web", origin=ORIGIN, hashing=CHEAP))
    try:
        make_accounts(app, "custodian")
        answer = signed_in(app, "custodian").get("/api/v1/openapi.json")
        assert answer.status_code == 200, answer.text
        routes = {f"{route.method} {route.path}": _route(route) for route in app.state.site.table.values()}
        return {**routes, **dict(_api(answer.json()))}
    finally:
        app.state.site.close()


def _route(route: Any) -> str:
    facts = [route.kind, f"permission {route.permission}"]
    facts += [f"takes {route.body}"] if route.body != "none" else []
    facts += [f"writes {route.records}"] if route.records else []
    return ", ".join(facts)


def _api(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    problem: Items = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path}"
            yield from _operation(name, operation, document)
            for status, answer in operation["responses"].items():
                if status >= "400":
                    content = dict(_content("a problem gives", answer, document))
                    assert problem in ({}, content), f"{name} gives a problem of another kind with {status}"
                    problem = content
    yield from problem.items()


def _operation(name: str, operation: dict[str, Any], document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What an operation takes and gives, and the statuses of its problems."""
    yield f"{name} operation", f"{operation['operationId']}, permission {operation['x-permission']}"
    for parameter in operation.get("parameters", ()):
        for path, text in flat(parameter["schema"], document, required=parameter["required"]).items():
            yield f"{name} {parameter['in']} {parameter['name']}{path.rstrip('.')}", text
    yield from _content(f"{name} sends", operation.get("requestBody", {}), document)
    for status, answer in operation["responses"].items():
        if status < "400":
            yield from _content(f"{name} gives {status}", answer, document)
    yield f"{name} may fail with", " ".join(sorted(status for status in operation["responses"] if status >= "400"))


def _content(name: str, part: dict[str, Any], document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for media_type, content in part.get("content", {}).items():
        for path, text in flat(content.get("schema", {}), document).items():
            yield f"{name} {media_type} {path}", text
