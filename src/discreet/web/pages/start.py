"""Getting started: the first steps on a page of their own, to be put away and taken out again."""

from __future__ import annotations

from starlette.responses import Response

from discreet.web.accounts.onboarding import guide_of, put_away
from discreet.web.framework.context import Here, go
from discreet.web.remarks import remark


def start_page(context: Here, said: str = "") -> Response:
    """The steps, and where they lead on."""
    with context.site.store.reading() as connection:
        guide = guide_of(connection, context.owner)
    return context.page("start.html", guide=guide, shown=context.owner.guided, said=remark(said))


def show_steps(context: Here) -> Response:
    """Put them away for this account, or show them on the dashboard again."""
    show = context.form.choice("show", ["yes", "no"]) == "yes"
    with context.site.store.writing() as connection:
        put_away(connection, context.owner.id, None if show else context.site.stamp())
    return go("/start" if show else "/", said="steps-back" if show else "steps-away")
