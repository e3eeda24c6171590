"""Second factor: codes of an authenticator app (TOTP, RFC 6238) or passkeys, and recovery codes for when they are lost.

After the password, the way to the second step is a sealed cookie of five minutes: nothing is stored until a code was right.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Literal
from urllib.parse import quote

from sqlalchemy import Connection, delete, func, insert, select
from starlette.responses import Response

from discreet.errors import IntegrityError
from discreet.store.tables.web import ACCOUNT, FACTOR, PASSKEY
from discreet.store.transitions import update_one
from discreet.web.accounts import accounts, passkeys
from discreet.web.accounts.accounts import Account, digest_secret
from discreet.web.datasets.files import seal, unseal
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem
from discreet.web.framework.shared_state import Site

PERIOD, DIGITS = 30, 6
"""What every authenticator app assumes (RFC 6238, section 5.2)."""
DRIFT = 1
"""Periods that a clock may be wrong by, either way."""
CODES = 10
TRIES = 10
"""Codes that may be tried for an account within a quarter of an hour."""
STEP = "__Host-discreet-step"
STEP_LIFE = timedelta(minutes=5)


def totp(secret: bytes, counter: int, *, digits: int = DIGITS) -> str:
    """The code of a period (RFC 6238 on RFC 4226, SHA-1).

    >>> totp(b"12345678901234567890", 59 // 30, digits=8)
    '94287082'
    """
    digest = hmac.new(secret, counter.to_bytes(8, "big"), hashlib.sha1).digest()
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**digits:0{digits}}"


def matching_period(secret: bytes, code: str, moment: float) -> int | None:
    """The period that a code belongs to; None if it is not one of now."""
    now = int(moment) // PERIOD
    fits = [at for at in range(now - DRIFT, now + DRIFT + 1) if hmac.compare_digest(totp(secret, at), code)]
    return fits[-1] if fits else None


def has_app(connection: Connection, account: int) -> bool:
    """Is an authenticator app set up?"""
    known = select(FACTOR.c.id).where(FACTOR.c.account == account, FACTOR.c.kind == "totp")
    return connection.execute(known).first() is not None


def state(connection: Connection, site: Site, account: Account) -> Literal["none", "ask", "enrol"]:
    """What comes after the password: nothing, a code or passkey, or to set one up, where the role requires it."""
    key = select(PASSKEY.c.id).where(PASSKEY.c.account == account.id)
    if has_app(connection, account.id) or connection.execute(key).first() is not None:
        return "ask"
    return "enrol" if account.role in site.settings.second_factor else "none"


def take_code(connection: Connection, site: Site, account: int, typed: str) -> bool:
    """Use a code of the app, or a recovery code, up; False if it is neither, or was used."""
    plain = typed.replace(" ", "").replace("-", "").lower()
    app = (FACTOR.c.account == account, FACTOR.c.kind == "totp")
    row = connection.execute(select(FACTOR).where(*app)).one_or_none()
    if row is not None and plain.isascii() and plain.isdigit() and len(plain) == DIGITS:
        secret = bytes.fromhex(unseal(site.ledger.keys, row.secret))
        period = matching_period(secret, plain, site.now().timestamp())
        # A code works once: a later period only, also of two who show the same one at once.
        return period is not None and update_one(
            connection, FACTOR, *app, FACTOR.c.counter < period, counter=period, used=site.stamp()
        )
    recovery = (FACTOR.c.account == account, FACTOR.c.kind == "recovery", FACTOR.c.used.is_(None))
    return update_one(connection, FACTOR, *recovery, FACTOR.c.secret == digest_secret(plain), used=site.stamp())


def set_up(connection: Connection, site: Site, account: int, secret: bytes, period: int) -> list[str]:
    """Store an app in place of the one before; gives new recovery codes, which are never seen again."""
    remove_app(connection, account)
    values = {"account": account, "made": site.stamp(), "kind": "totp", "counter": period, "used": site.stamp()}
    values["secret"] = seal(site.ledger.keys, secret.hex())
    connection.execute(insert(FACTOR).values(values))
    return renew_recovery(connection, site, account)


def renew_recovery(connection: Connection, site: Site, account: int) -> list[str]:
    """New recovery codes in place of the old ones: 50 random bits each, stored as hashes."""
    connection.execute(delete(FACTOR).where(FACTOR.c.account == account, FACTOR.c.kind == "recovery"))
    codes = [base64.b32encode(secrets.token_bytes(10))[:10].decode().lower() for _ in range(CODES)]
    about = {"account": account, "made": site.stamp(), "kind": "recovery", "counter": 0}
    connection.execute(insert(FACTOR), [{**about, "secret": digest_secret(code)} for code in codes])
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def remove_app(connection: Connection, account: int) -> None:
    """Forget the app of an account."""
    connection.execute(delete(FACTOR).where(FACTOR.c.account == account, FACTOR.c.kind == "totp"))


def remove(connection: Connection, account: int) -> None:
    """Forget app, passkeys and recovery codes of an account."""
    passkeys.remove(connection, account)
    connection.execute(delete(FACTOR).where(FACTOR.c.account == account))


def last_one_removed(connection: Connection, site: Site, account: Account) -> None:
    """After a removal: recovery codes alone are no second factor, and a role may require one."""
    now = state(connection, site, account)
    if now == "enrol":
        raise Problem(409, "Your role requires a second factor.", remedy="Set up another one first.")
    if now == "none":
        remove(connection, account.id)


def recovery_left(connection: Connection, account: int) -> int:
    """Recovery codes that were not used."""
    left = (FACTOR.c.account == account, FACTOR.c.kind == "recovery", FACTOR.c.used.is_(None))
    return int(connection.execute(select(func.count()).select_from(FACTOR).where(*left)).scalar_one())


# The second step of signing in.
@dataclass(frozen=True)
class SecondStep:
    """What the sealed cookie says: whose password was right, and what comes next."""

    account: int
    proven: str
    until: str
    next: str = "/"
    secret: str = ""
    """Of an app that is being set up; empty where a factor that is known is asked for."""
    challenge: str = ""
    """What a passkey signs."""
    only: Literal["", "app", "passkey"] = ""
    """What is being set up, if it was chosen."""
    passkey: str = ""
    """The name of a passkey that is being set up."""


def begin_step(site: Site, response: Response, account: Account, *, fresh: bool, **given: Any) -> Response:
    """Send the browser to the second step, with the key of a new app if one is to be set up."""
    about: dict[str, Any] = {"until": site.stamp(ago=-STEP_LIFE), "secret": secrets.token_hex(20) if fresh else ""}
    step = SecondStep(account.id, **given, **about, challenge=secrets.token_hex(32))
    sealed = seal(site.ledger.keys, json.dumps(asdict(step)))
    response.set_cookie(STEP, sealed, path="/", secure=True, httponly=True, samesite="lax")
    return response


def current_step(context: Context) -> tuple[SecondStep, Account] | None:
    """The step that this browser is at, unless it took too long or the account changed meanwhile."""
    sealed, site = context.request.cookies.get(STEP, ""), context.site
    try:
        step = SecondStep(**json.loads(unseal(site.ledger.keys, sealed)))
    except (IntegrityError, TypeError, ValueError):
        return None
    unchanged = (ACCOUNT.c.id == step.account, ACCOUNT.c.password == step.proven, ACCOUNT.c.disabled.is_(False))
    with site.store.reading() as connection:
        row = connection.execute(select(ACCOUNT).where(*unchanged)).one_or_none()
    return None if row is None or step.until <= site.stamp() else (step, accounts.account_of(row))


def forget_step(response: Response) -> Response:
    """Have the browser forget it."""
    response.delete_cookie(STEP, path="/", secure=True, httponly=True, samesite="lax")
    return response


def app_address(secret: str, account: str) -> dict[str, str]:
    """What an authenticator app takes: the key in groups, and the same as an address."""
    key = base64.b32encode(bytes.fromhex(secret)).decode()
    groups = " ".join(key[at : at + 4] for at in range(0, len(key), 4))
    return {"key": groups, "address": f"otpauth://totp/Discreet:{quote(account)}?secret={key}&issuer=Discreet"}
