"""The tab of a data set that shows what was released of it."""

from __future__ import annotations

from starlette.responses import Response

from discreet.web.datasets.dataset_page import frame
from discreet.web.framework.context import Here
from discreet.web.releases import store as plans
from discreet.web.releases import view as release_view


def releases_tab(context: Here) -> Response:
    """Releases that are made of this data set, or planned."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "releases")
        names = dict.fromkeys(plan.release for plan in plans.everything(connection, dataset=context.loaded.id))
        boards = [board for name in names if (board := release_view.board(connection, name)) is not None]
    return context.page("dataset_releases.html", boards=boards, steps=release_view.STEPS, **around)
