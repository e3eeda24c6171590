"""The file in which an adversary is written down: one section [attack] with what he gains, pays and risks."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from discreet.errors import PolicyError


def read_attack(file: Path) -> dict[str, Any]:
    """The parameters in a file, as `Attack.from_dict` takes them."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolicyError(
            f"{file} cannot be read ({type(error).__name__}).", remedy=f"discreet attack init --out {file} writes one."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{file} is not TOML: {error}", remedy="discreet attack init writes a correct one.") from None
    section = content.pop("attack", None)
    if not isinstance(section, dict) or content:
        extra = f"; '{next(iter(content))}' does not belong there" if content else ""
        raise PolicyError(
            f"{file} needs one section [attack]{extra}.", remedy="discreet attack init writes a correct one."
        )
    return dict(section)
