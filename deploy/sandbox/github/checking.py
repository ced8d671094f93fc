"""The rules of check runs.

https://docs.github.com/rest/checks/runs#create-a-check-run
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from deploy.sandbox.github.errors import invalid, invalid_request
from deploy.sandbox.github.state import CheckRun, now

ANNOTATIONS_PER_REQUEST = 50
OUTPUT_MAX_CHARACTERS = 65_535
STATUSES = ("queued", "in_progress", "completed")
CONCLUSIONS = (
    "action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out",
)  # fmt: skip
LEVELS = ("notice", "warning", "failure")
_ANNOTATION_KEYS = ("path", "start_line", "end_line", "annotation_level", "message")


def check_wanted(wanted: Mapping[str, Any]) -> None:
    """Refuse a check run that GitHub would refuse; raises ApiError 422."""
    status, conclusion = wanted.get("status"), wanted.get("conclusion")
    _check_member(status, STATUSES)
    _check_member(conclusion, CONCLUSIONS)
    if status == "completed" and not conclusion:
        raise invalid_request(
            'No subschema in "anyOf" matched.\n"conclusion" wasn\'t supplied.\n'
            'completed is not a member of ["queued", "in_progress"].'
        )
    if wanted.get("output") is not None:
        _check_output(wanted["output"])


def apply_wanted(run: CheckRun, wanted: Mapping[str, Any]) -> None:
    """Change a check run; annotations are added to those that are there."""
    run.name = wanted.get("name", run.name)
    run.external_id = wanted.get("external_id", run.external_id)
    run.details_url = wanted.get("details_url", run.details_url)
    run.status = "completed" if wanted.get("conclusion") else wanted.get("status", run.status)
    run.conclusion = wanted.get("conclusion") if run.status == "completed" else None
    if wanted.get("started_at"):
        run.started_at = _moment(wanted["started_at"])
    if run.status == "completed":
        run.completed_at = _moment(wanted["completed_at"]) if wanted.get("completed_at") else now()
    output = wanted.get("output") or {}
    run.title, run.summary = output.get("title", run.title), output.get("summary", run.summary)
    run.text = output.get("text", run.text)
    run.annotations += output.get("annotations") or []


def _check_output(output: Mapping[str, Any]) -> None:
    _check_present(output, ("title", "summary"))
    for name in ("summary", "text"):
        if len(output.get(name) or "") > OUTPUT_MAX_CHARACTERS:
            raise invalid("CheckRun", name, f"{name} exceeds a maximum length of {OUTPUT_MAX_CHARACTERS}")
    annotations = output.get("annotations") or []
    if len(annotations) > ANNOTATIONS_PER_REQUEST:
        raise invalid_request(
            f"No more than {ANNOTATIONS_PER_REQUEST} items are allowed; {len(annotations)} were supplied."
        )
    for annotation in annotations:
        _check_present(annotation, _ANNOTATION_KEYS)
        _check_member(annotation["annotation_level"], LEVELS)


def _check_present(wanted: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if wanted.get(name) in (None, ""):
            raise invalid_request(f'"{name}" wasn\'t supplied.')


def _check_member(value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise invalid_request(f"{value} is not a member of {list(allowed)}.")


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise invalid_request(f"{text} is not a valid date-time.") from None
