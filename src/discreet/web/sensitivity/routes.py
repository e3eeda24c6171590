"""Routes of sensitivity studies."""

from __future__ import annotations

from functools import partial

from discreet.web.framework.route import Route
from discreet.web.sensitivity import pages

Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")

SENSITIVITY_ROUTES: tuple[Route, ...] = (
    Read("/sensitivity", "sensitivity.answer", pages.sensitivity_page),
    Read("/sensitivity/new", "sensitivity.change", pages.new_page),
    Send("/sensitivity/new", "sensitivity.change", pages.begin),
    Read("/sensitivity/versions/{number}", "sensitivity.change", pages.version_page, loads=pages.VERSION),
    Read("/sensitivity/{number}/question", "sensitivity.answer", pages.question_page, loads=pages.INTERVIEW),
    Send("/sensitivity/{number}/answer", "sensitivity.answer", pages.answer, loads=pages.INTERVIEW),
    Send("/sensitivity/{number}/undo", "sensitivity.answer", pages.undo, loads=pages.INTERVIEW),
    Send("/sensitivity/{number}/recheck", "sensitivity.answer", pages.recheck, loads=pages.INTERVIEW),
    Read("/sensitivity/{number}/panel", "sensitivity.change", pages.panel_page, loads=pages.STUDY),
    Send("/sensitivity/{number}/invite", "sensitivity.change", pages.invite, loads=pages.STUDY),
    Send("/sensitivity/{number}/again", "sensitivity.change", pages.again, loads=pages.STUDY),
    Send("/sensitivity/{number}/close", "sensitivity.change", pages.close, loads=pages.STUDY),
    Send("/sensitivity/{number}/reopen", "sensitivity.change", pages.reopen, loads=pages.STUDY),
    Send("/sensitivity/{number}/versions", "sensitivity.change", pages.make_version, loads=pages.STUDY),
)
