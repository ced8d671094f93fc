"""The admin's pages: the latency table, as a page and as data, behind the admin token."""

import hmac
from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from flask import Blueprint, Response, jsonify, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response as BaseResponse

from bot.db.engine import DatabaseError
from bot.db.latency import LatencySummary
from bot.latency_report import GROUPS, make_report, report_csv, report_json, report_rows
from bot.web.services import current_services

log = structlog.get_logger(__name__)
blueprint = Blueprint("admin", __name__, url_prefix="/admin")

View = Callable[..., Any]


def is_admin_token(given: str, token: str) -> bool:
    """Compare in constant time, whatever was given."""
    return bool(token) and hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())


def _is_admin() -> bool:
    if session.get("admin"):
        return True
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    return kind.lower() == "bearer" and is_admin_token(given.strip(), current_services().admin_token)


def admin_only(view: View) -> View:
    """Let only admins in: programs get 401 without a hint, people the login form."""

    @wraps(view)
    def guarded(*args: object, **values: object) -> Any:
        if _is_admin():
            return view(*args, **values)
        if request.path.endswith((".json", ".csv")) or "Authorization" in request.headers:
            return jsonify(error="unauthorized"), 401, {"WWW-Authenticate": "Bearer"}
        return redirect(url_for("admin.login", next=request.full_path.rstrip("?")))

    return guarded


@blueprint.after_request
def harden(response: Response) -> Response:
    """Keep pages out of caches and frames, and let them load nothing from elsewhere."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    return response


@blueprint.errorhandler(DatabaseError)
def database_away(error: DatabaseError) -> tuple[Response | str, int]:
    """Say what is wrong with the database; only admins get as far as this."""
    log.error("admin page not shown", path=request.path, error=str(error))
    if request.path.endswith((".json", ".csv")):
        return jsonify(error=str(error)), 503
    return render_template("problem.html", problem=str(error)), 503


@blueprint.get("/login")
def login() -> str:
    """Show the login form."""
    return render_template("login.html", next=_safe_next(request.args.get("next", "")), wrong=False)


@blueprint.post("/login")
def log_in() -> BaseResponse | tuple[str, int]:
    """Start a session for whoever knows the token."""
    target = _safe_next(request.form.get("next", ""))
    if not is_admin_token(request.form.get("token", ""), current_services().admin_token):
        return render_template("login.html", next=target, wrong=True), 401
    session.clear()
    session["admin"] = True
    return redirect(target)


@blueprint.post("/logout")
def log_out() -> BaseResponse:
    """End the session."""
    session.clear()
    return redirect(url_for("admin.login"))


@blueprint.get("/")
@admin_only
def index() -> BaseResponse:
    """Lead to the latency page."""
    return redirect(url_for("admin.latency"))


@blueprint.get("/latency")
@admin_only
def latency() -> tuple[str, int]:
    """Show the latency table with its filters; a filter that cannot be read is explained on the page."""
    problem = ""
    summaries: list[LatencySummary] = []
    try:
        summaries = _report()
    except ValueError as error:
        problem = str(error)
    page = render_template(
        "latency.html",
        rows=list(report_rows(summaries)),
        problem=problem,
        since=_since(),
        by=request.args.get("by", ""),
        groups=GROUPS,
    )
    return page, 400 if problem else 200


@blueprint.get("/latency.json")
@admin_only
def latency_json() -> Response | tuple[Response, int]:
    """Give the figures as JSON."""
    try:
        return jsonify(report_json(_report()))
    except ValueError as error:
        return jsonify(error=str(error)), 400


@blueprint.get("/latency.csv")
@admin_only
def latency_csv() -> Response | tuple[Response, int]:
    """Give the figures as CSV."""
    try:
        return Response(report_csv(_report()), mimetype="text/csv")
    except ValueError as error:
        return jsonify(error=str(error)), 400


def _since() -> str:
    return request.args.get("since", "24h")


def _report() -> list[LatencySummary]:
    since = _since()
    return make_report(
        current_services().database, since="" if since == "all" else since, by=request.args.get("by", "")
    )


def _safe_next(target: str) -> str:
    # Only our own pages: "//host" and "\\host" would lead elsewhere.
    if target.startswith("/admin") and "\\" not in target and not target.startswith("//"):
        return target
    return url_for("admin.latency")
