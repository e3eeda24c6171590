"""Routes of data sets, jobs and reports."""

from __future__ import annotations

from typing import Any

from discreet.web.datasets import api, dataset_page, models, pages
from discreet.web.datasets import pages as changes
from discreet.web.framework.route import Route
from discreet.web.jobs import api as jobs_api
from discreet.web.jobs import pages as job_pages
from discreet.web.reports import pages as report_pages
from discreet.web.reports import project as projects

_DATASET: dict[str, Any] = {"loads": dataset_page.DATASET}
_JOB: dict[str, Any] = {"loads": job_pages.JOB}
_REPORT: dict[str, Any] = {"loads": report_pages.REPORT}


def _read(path: str, permission: str, handler: Any, **more: Any) -> Route:
    return Route("GET", path, permission, handler, **more)


def _send(path: str, permission: str, handler: Any, **more: Any) -> Route:
    return Route("POST", path, permission, handler, **more)


PAGES: tuple[Route, ...] = (
    _read("/datasets", "datasets.read", pages.datasets_page),
    _read("/datasets/new", "datasets.change", pages.new_page),
    _send("/datasets/upload", "datasets.change", pages.upload, body="upload"),
    _send("/datasets/register", "datasets.change", pages.register, body="form"),
    _send("/datasets/connect", "datasets.change", pages.connect, body="form"),
    _read("/datasets/{number}", "datasets.read", dataset_page.profile_page, live=True, **_DATASET),
    _read("/datasets/{number}/risk", "datasets.read", dataset_page.risk_page, live=True, **_DATASET),
    _read("/datasets/{number}/attacker", "datasets.read", dataset_page.attacker_page, live=True, **_DATASET),
    _read("/datasets/{number}/protect", "datasets.read", dataset_page.protect_page, live=True, **_DATASET),
    _read("/datasets/{number}/policy", "datasets.read", dataset_page.policy_page, live=True, **_DATASET),
    _read("/datasets/{number}/remove", "datasets.change", changes.remove_page, **_DATASET),
    _send("/datasets/{number}/roles", "datasets.change", changes.roles, body="form", **_DATASET),
    _send("/datasets/{number}/policy", "datasets.change", changes.policy, body="form", **_DATASET),
    _send("/datasets/{number}/hierarchies", "datasets.change", changes.hierarchy, body="upload", **_DATASET),
    _send("/datasets/{number}/population", "datasets.change", changes.population, body="form", **_DATASET),
    _send("/datasets/{number}/profile", "datasets.change", changes.profile, body="form", **_DATASET),
    _send("/datasets/{number}/assess", "datasets.change", changes.assess, body="form", **_DATASET),
    _send("/datasets/{number}/attack", "datasets.change", changes.attack, body="form", **_DATASET),
    _send("/datasets/{number}/protect", "datasets.change", changes.protect, body="form", **_DATASET),
    _send("/datasets/{number}/remove", "datasets.change", changes.remove, body="form", **_DATASET),
    _read("/jobs", "datasets.read", job_pages.jobs_page),
    _read("/jobs/{number}", "datasets.read", job_pages.job_page, live=True, **_JOB),
    _read("/jobs/{number}/state", "datasets.read", job_pages.job_state, kind="fragment", **_JOB),
    _send("/jobs/{number}/cancel", "datasets.change", job_pages.cancel, body="form", **_JOB),
    _send("/jobs/{number}/file", "datasets.take", job_pages.take_file, body="form", **_JOB),
    _read("/reports", "reports.read", report_pages.reports_page),
    _read("/reports/new", "datasets.change", projects.new_page),
    _send("/reports/new", "datasets.change", projects.make, body="form"),
    _read("/reports/{number}", "reports.read", report_pages.report_page, records=True, **_REPORT),
    _send("/reports/{number}/file", "reports.read", report_pages.take_report, body="form", **_REPORT),
)

_API = "/api/v1/datasets/{number}"


def _ask(path: str, permission: str, handler: Any, **more: Any) -> Route:
    return Route("GET", path, permission, handler, kind="api", **more)


def _tell(path: str, permission: str, handler: Any, **more: Any) -> Route:
    return Route("POST", path, permission, handler, **{"kind": "api", "body": "json", **more})


PROGRAMS: tuple[Route, ...] = (
    _ask("/api/v1/datasets", "datasets.read", api.dataset_list, returns=models.Datasets),
    _tell("/api/v1/datasets", "datasets.change", api.upload, returns=models.DatasetModel, status=201, body="upload"),
    _tell("/api/v1/datasets/register", "datasets.change", api.register, returns=models.DatasetModel, status=201),
    _tell("/api/v1/datasets/connect", "datasets.change", api.connect, returns=models.DatasetModel, status=201),
    _ask(_API, "datasets.read", api.dataset, returns=models.DatasetModel, **_DATASET),
    _ask(f"{_API}/policy", "datasets.read", api.policy, returns=models.PolicyModel, **_DATASET),
    _tell(f"{_API}/policy", "datasets.change", api.change_policy, returns=models.PolicyModel, **_DATASET),
    _tell(f"{_API}/population", "datasets.change", api.population, returns=models.DatasetModel, **_DATASET),
    _tell(f"{_API}/profile", "datasets.change", api.profile, returns=models.JobModel, status=201, **_DATASET),
    _tell(f"{_API}/assess", "datasets.change", api.assess, returns=models.JobModel, status=201, **_DATASET),
    _tell(f"{_API}/anonymise", "datasets.change", api.anonymise, returns=models.JobModel, status=201, **_DATASET),
    _tell(f"{_API}/attack", "datasets.change", api.attack, returns=models.JobModel, status=201, **_DATASET),
    _tell(f"{_API}/remove", "datasets.change", api.remove, returns=models.Removed, **_DATASET),
    _ask("/api/v1/jobs", "datasets.read", jobs_api.job_list, returns=models.Jobs),
    _ask("/api/v1/jobs/{number}", "datasets.read", jobs_api.job, returns=models.JobModel, **_JOB),
    _tell("/api/v1/jobs/{number}/cancel", "datasets.change", jobs_api.cancel, returns=models.JobModel, **_JOB),
    _ask("/api/v1/jobs/{number}/result", "datasets.read", jobs_api.result, returns=models.ResultModel, **_JOB),
    _tell("/api/v1/jobs/{number}/file", "datasets.take", jobs_api.file, body="none", **_JOB),
    _tell("/api/v1/reports/{number}", "reports.read", jobs_api.report, body="none", **_REPORT),
)

DATASET_ROUTES = (*PAGES, *PROGRAMS)
