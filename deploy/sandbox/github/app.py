"""Put the routes together."""

from collections.abc import Iterable
from functools import cache

from flask import Flask

from deploy.sandbox.github.core import Core
from deploy.sandbox.github.page import routes as page
from deploy.sandbox.github.routes import (
    apps,
    checks,
    hooks,
    issues,
    pulls,
    reactions,
    repositories,
    review_comments,
    reviews,
    statuses,
)
from deploy.sandbox.github.web import CORE, create_flask_app
from deploy.sandbox.recording import App, Environ, StartResponse

MODULES = (
    apps,
    checks,
    hooks,
    issues,
    page,
    pulls,
    reactions,
    repositories,
    review_comments,
    reviews,
    statuses,
)


def create_app(core: Core) -> App:
    """Make the WSGI application of one sandbox; requests take effect one after another."""
    flask = _routes()

    def one_at_a_time(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        with core.state.lock:
            return flask(environ | {CORE: core}, start_response)

    return one_at_a_time


@cache
def _routes() -> Flask:
    # Once per process: tests make a sandbox each, and werkzeug takes its time to compile the routes.
    flask = create_flask_app()
    for module in MODULES:
        flask.register_blueprint(module.blueprint)
    return flask
