"""Health checks for load balancers and supervisors."""

import structlog
from flask import Blueprint, Response, jsonify

from bot.db.engine import DatabaseError
from bot.db.migrate import schema_revision_is_current
from bot.web.services import current_services

log = structlog.get_logger(__name__)
blueprint = Blueprint("health", __name__)


@blueprint.get("/livez")
def livez() -> Response:
    """Tell that the process answers; it looks at nothing else."""
    return jsonify(status="ok")


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Tell whether events can be stored. A broker that is down does not matter here: the sweeper publishes later."""
    try:
        current = schema_revision_is_current(current_services().database)
    except DatabaseError as error:
        # Anybody may ask, so the address and the cause are for the log.
        log.error("not ready", error=str(error))
        return jsonify(status="unready", reason="the database does not answer: see the log"), 503
    if not current:
        return jsonify(status="unready", reason="the database has another schema: run `redline migrate`"), 503
    return jsonify(status="ok"), 200
