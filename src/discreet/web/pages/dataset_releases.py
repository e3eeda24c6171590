"""The tab of a data set that shows what was released of it."""

from __future__ import annotations

from starlette.responses import Response

from discreet.web.context import Here
from discreet.web.pages.dataset import frame
from discreet.web.releasing import desk
from discreet.web.releasing import plan as plans


def releases_tab(context: Here) -> Response:
    """Releases that are made of this data set, or planned."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "releases")
        names = dict.fromkeys(plan.release for plan in plans.everything(connection, dataset=context.loaded.id))
        boards = [board for name in names if (board := desk.board(connection, name)) is not None]
    return context.page("dataset_releases.html", boards=boards, steps=desk.STEPS, **around)
