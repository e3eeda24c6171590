"""The release desk: all releases with the state of every copy, and one release with its history."""

from __future__ import annotations

from starlette.responses import Response

from discreet.releases.delivery.repository import Kept
from discreet.releases.delivery.service import Registry
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads
from discreet.web.jobs.pages import attachment
from discreet.web.releases import decisions, delivery, tracing, view
from discreet.web.releases.view import Board
from discreet.web.releasing.typed import names_in
from discreet.web.remarks import remark

MOST_TOLD = 60


def _find(context: Context, path: dict[str, str]) -> Board | None:
    name = path["name"]
    if not name.isprintable() or len(name) > 64:
        raise ValueError("not a name")
    with context.site.store.reading() as connection:
        return view.board(connection, name)


RELEASE = Loads("release", find=_find, may=lambda context, board: context.may(context.route.permission))
"""Releases belong to the custodians of the store, who look after them together; auditors read them."""


def releases_page(context: Here, said: str = "") -> Response:
    """Every release: recipients as rows, how far their copies are as columns."""
    with context.site.store.reading() as connection:
        found = view.boards(connection)
    return context.page("releases.html", boards=found, steps=view.STEPS, said=remark(said))


def release_page(context: Here, said: str = "") -> Response:
    """One release."""
    return release_again(context, said=remark(said))


def release_again(context: Context, *, said: str = "", problem: Problem | None = None, form: str = "") -> Response:
    """The same, also with what went wrong in one of its forms."""
    board: Board = context.loaded
    with context.site.store.reading() as connection:
        traces = tracing.of_release(connection, board.name)
    return context.page(
        "release.html",
        status=problem.status if problem else 200,
        problem=problem,
        form=form,
        typed=context.form.verbatim("recipients", most=20_000, lines=True) if form == "more" else "",
        board=board,
        steps=view.STEPS,
        traces=traces,
        history=[(entry, view.told(entry)) for entry in board.history[:MOST_TOLD]],
        said=said,
    )


def sealed(context: Context) -> Kept:
    """The newest version of the release; a problem if it is only planned."""
    kept = context.loaded.kept
    if kept is None:
        raise Problem(
            409,
            "This release is planned, but nothing of it is made yet.",
            remedy="Have it approved and made first.",
            title="Nothing is made yet",
        )
    found: Kept = kept
    return found


def add_recipients(context: Here) -> Response:
    """Plan copies for recipients who come later; somebody else approves them."""
    try:
        names = names_in(context.form.verbatim("recipients", most=20_000, lines=True))
        number = decisions.more(context, sealed(context), names)
    except Exception as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return release_again(context, problem=problem, form="more")
    return go(f"/releases/plans/{number}", said="planned")


def retire(context: Here) -> Response:
    """Give a recipient no further copies."""
    kept = sealed(context)
    recipient = context.form.choice("recipient", kept.recipients)
    Registry(context.site.ledger).retire(kept.name, recipient, actor=context.owner.name)
    delivery.throw_away(context, kept.name, recipient)
    return go(context.request.url.path.removesuffix("/retire"), said="retired")


def deliver(context: Here) -> Response:
    """Hand over a copy: written down first, then sent."""
    kept = sealed(context)
    recipient = context.form.choice("recipient", kept.recipients)
    path = delivery.hand_over(context, kept, recipient)
    return attachment(path, f"{kept.name}-{kept.version}-{recipient}.zip", "application/zip")
