"""The part of the table of routes that is about how sensitive values are."""

from __future__ import annotations

from functools import partial

from discreet.web.pages import sensitivity, studies
from discreet.web.route import Route

Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")

SENSITIVITY_ROUTES: tuple[Route, ...] = (
    Read("/sensitivity", "sensitivity.answer", sensitivity.sensitivity_page),
    Read("/sensitivity/new", "sensitivity.change", studies.new_page),
    Send("/sensitivity/new", "sensitivity.change", studies.begin),
    Read("/sensitivity/versions/{number}", "sensitivity.change", studies.version_page, loads=studies.VERSION),
    Read(
        "/sensitivity/{number}/question", "sensitivity.answer", sensitivity.question_page, loads=sensitivity.INTERVIEW
    ),
    Send("/sensitivity/{number}/answer", "sensitivity.answer", sensitivity.answer, loads=sensitivity.INTERVIEW),
    Send("/sensitivity/{number}/undo", "sensitivity.answer", sensitivity.undo, loads=sensitivity.INTERVIEW),
    Send("/sensitivity/{number}/recheck", "sensitivity.answer", sensitivity.recheck, loads=sensitivity.INTERVIEW),
    Read("/sensitivity/{number}/panel", "sensitivity.change", studies.panel_page, loads=studies.STUDY),
    Send("/sensitivity/{number}/invite", "sensitivity.change", studies.invite, loads=studies.STUDY),
    Send("/sensitivity/{number}/again", "sensitivity.change", studies.again, loads=studies.STUDY),
    Send("/sensitivity/{number}/close", "sensitivity.change", studies.close, loads=studies.STUDY),
    Send("/sensitivity/{number}/reopen", "sensitivity.change", studies.reopen, loads=studies.STUDY),
    Send("/sensitivity/{number}/versions", "sensitivity.change", studies.make_version, loads=studies.STUDY),
)
