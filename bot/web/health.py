"""Health checks for load balancers and supervisors."""

from flask import Blueprint, Response, jsonify

from bot.db.engine import DatabaseError
from bot.db.migrate import schema_revision_is_current
from bot.web.services import current_services

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
        return jsonify(status="unready", reason=str(error)), 503
    if not current:
        return jsonify(status="unready", reason="the database has another schema: run `redline migrate`"), 503
    return jsonify(status="ok"), 200
