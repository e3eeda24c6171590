"""Passkeys: a second factor that a browser's authenticator signs (WebAuthn, level 2), several per account.

A passkey signs the challenge of one sign-in for one host name, so that a page elsewhere that looks the same gets nothing of
use. The key that it signs with never leaves it; what is stored here is public.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from discreet.store.tables.web import PASSKEY
from discreet.store.transitions import update_one
from discreet.web.accounts.accounts import Account
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem
from discreet.web.framework.shared_state import Site

INSTALLED = find_spec("webauthn") is not None
MOST = 10
"""Passkeys of an account."""
LONGEST_ANSWER = 32_000
"""Characters of what a browser sends; an attestation is not asked for, so that the usual 1,000 are enough."""
SERVICE = "Discreet"


@dataclass(frozen=True)
class Passkey:
    """One authenticator of an account, as its owner named it."""

    id: int
    account: int
    name: str
    made: str
    used: str | None


@dataclass(frozen=True)
class Place:
    """The host name and the origin that a passkey is bound to (WebAuthn, section 5.1.2: relying party)."""

    host: str
    origin: str


def place_of(context: Context) -> Place | None:
    """Where the browser is; None at an address without a name, for which no browser makes passkeys."""
    address = context.request.headers.get("host", "")  # one of our names: the shell refuses all others
    host = address.rpartition(":")[0] if ":" in address else address
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return Place(host, f"{context.site.settings.origin.partition(':')[0]}://{address}") if host else None
    return None


def offered(context: Context) -> bool:
    """Can a passkey be made or used on this page?"""
    return INSTALLED and place_of(context) is not None


def of_account(connection: Connection, account: int) -> list[Passkey]:
    """The passkeys of an account, the oldest first."""
    columns = (PASSKEY.c.id, PASSKEY.c.account, PASSKEY.c.name, PASSKEY.c.made, PASSKEY.c.used)
    rows = connection.execute(select(*columns).where(PASSKEY.c.account == account).order_by(PASSKEY.c.id))
    return [Passkey(**row._mapping) for row in rows]


def find(connection: Connection, number: int) -> Passkey | None:
    """By number."""
    columns = (PASSKEY.c.id, PASSKEY.c.account, PASSKEY.c.name, PASSKEY.c.made, PASSKEY.c.used)
    row = connection.execute(select(*columns).where(PASSKEY.c.id == number)).one_or_none()
    return None if row is None else Passkey(**row._mapping)


def remove(connection: Connection, account: int, number: int | None = None) -> None:
    """Forget one passkey of an account, or all."""
    which = () if number is None else (PASSKEY.c.id == number,)
    connection.execute(delete(PASSKEY).where(PASSKEY.c.account == account, *which))


def creation_options(context: Context, account: Account, challenge: str) -> str:
    """What a browser needs to make a passkey, as JSON; one that it has made for this account is not made again."""
    import webauthn
    from webauthn.helpers import structs

    place = _place(context)
    options = webauthn.generate_registration_options(
        rp_id=place.host,
        rp_name=SERVICE,
        user_name=account.name,
        user_id=hashlib.sha256(f"{place.host} {account.id}".encode()).digest(),
        challenge=bytes.fromhex(challenge),
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.DISCOURAGED,
            user_verification=structs.UserVerificationRequirement.PREFERRED,
        ),
        exclude_credentials=_descriptors(context.site, account),
    )
    return webauthn.options_to_json(options)


def request_options(context: Context, account: Account, challenge: str) -> str:
    """What a browser needs to have a passkey of this account sign the challenge, as JSON."""
    import webauthn

    options = webauthn.generate_authentication_options(
        rp_id=_place(context).host,
        challenge=bytes.fromhex(challenge),
        allow_credentials=_descriptors(context.site, account),
    )
    return webauthn.options_to_json(options)


def checked_new(context: Context, challenge: str, answer: str) -> Mapping[str, Any]:
    """The columns of a new passkey that a browser has made for this challenge."""
    import webauthn
    from webauthn.helpers.exceptions import WebAuthnException

    place = _place(context)
    try:
        made = webauthn.verify_registration_response(
            credential=answer,
            expected_challenge=bytes.fromhex(challenge),
            expected_rp_id=place.host,
            expected_origin=place.origin,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError):
        raise not_signed() from None
    return {
        "credential": made.credential_id.hex(),
        "public": made.credential_public_key.hex(),
        "counter": made.sign_count,
    }


def add(connection: Connection, site: Site, account: int, name: str, made: Mapping[str, Any]) -> None:
    """Store a new passkey beside those there are."""
    if len(of_account(connection, account)) >= MOST:
        raise Problem(409, f"An account has at most {MOST} passkeys.", remedy="Remove one that is not used any more.")
    if connection.execute(select(PASSKEY.c.id).where(PASSKEY.c.credential == made["credential"])).first():
        raise Problem(409, "This passkey is known already.", remedy="Use another authenticator.")
    connection.execute(insert(PASSKEY).values(account=account, name=name, made=site.stamp(), **made))


def take_signature(context: Context, account: int, challenge: str, answer: str) -> None:
    """Accept the signature of a passkey of this account under the challenge, once; a problem if it is none."""
    import webauthn
    from webauthn.helpers import parse_authentication_credential_json
    from webauthn.helpers.exceptions import WebAuthnException

    place, site = _place(context), context.site
    try:
        credential = parse_authentication_credential_json(answer)
        known = (PASSKEY.c.account == account, PASSKEY.c.credential == credential.raw_id.hex())
        with site.store.reading() as connection:
            row = connection.execute(select(PASSKEY).where(*known)).one_or_none()
        if row is None:
            raise not_signed()
        signed = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=bytes.fromhex(challenge),
            expected_rp_id=place.host,
            expected_origin=place.origin,
            credential_public_key=bytes.fromhex(row.public),
            credential_current_sign_count=row.counter,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError):
        raise not_signed() from None
    with site.store.writing() as connection:
        # Authenticators that count go up with every signature (section 6.1.1); those that do not say 0 for ever.
        unchanged = (PASSKEY.c.id == row.id, PASSKEY.c.counter == row.counter)
        if not update_one(connection, PASSKEY, *unchanged, counter=signed.new_sign_count, used=site.stamp()):
            raise not_signed()


def not_signed() -> Problem:
    """Not a passkey of this account, or not for this sign-in."""
    words = "That was no passkey of this account, or it took too long."
    return Problem(403, words, remedy="Try again.", title="That did not work")


def _place(context: Context) -> Place:
    place = place_of(context)
    if not INSTALLED or place is None:
        raise Problem(409, "Passkeys cannot be used here.", remedy="Use a code of your app, or a recovery code.")
    return place


def _descriptors(site: Site, account: Account) -> list[Any]:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    with site.store.reading() as connection:
        rows = connection.execute(select(PASSKEY.c.credential).where(PASSKEY.c.account == account.id))
        return [PublicKeyCredentialDescriptor(id=bytes.fromhex(row.credential)) for row in rows]
