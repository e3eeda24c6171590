"""Extra web: the server starts, and its pages, its parts and its API answer."""

from __future__ import annotations

import re
from urllib.error import HTTPError
from urllib.request import urlopen

from calling import started

with started("serve", "--port", "0", "--store", "web.db", "--data", "data", says=r"(http://\S+/welcome/\S+)") as link:
    origin = link.partition("/welcome/")[0]
    with urlopen(link) as answer:  # noqa: S310
        page = answer.read().decode("utf-8")
    assert "password" in page
    answered = 0
    try:
        urlopen(f"{origin}/api/v1/openapi.json")  # noqa: S310
    except HTTPError as refused:
        answered = refused.code
    assert answered == 401, "a stranger was answered"
    parts = re.findall(r'(?:href|src)="(/assets/[^"]+)"', page)
    assert len(parts) >= 2
    for part in parts:
        with urlopen(f"{origin}{part}") as answer:  # noqa: S310
            assert answer.read()
with started("serve", "--demo", "--port", "0", says=r"sign in as (\S+)") as somebody:
    assert somebody
