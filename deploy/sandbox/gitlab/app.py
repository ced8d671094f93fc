"""Put the routes together."""

import re
from collections.abc import Iterable
from functools import cache
from urllib.parse import unquote

from flask import Flask

from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.page import routes as page
from deploy.sandbox.gitlab.routes import draft_notes, merge_requests, notes, repository, users
from deploy.sandbox.gitlab.web import CORE, ENCODED_SLASH, create_flask_app
from deploy.sandbox.recording import App, Environ, StartResponse

MODULES = (draft_notes, merge_requests, notes, page, repository, users)


def create_app(core: Core) -> App:
    """Make the WSGI application of one sandbox; requests take effect one after another."""
    flask = _routes()

    def one_at_a_time(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        root = core.state.relative_root
        with core.state.lock:
            return flask(environ | {CORE: core} | _mount(environ, root), start_response)

    return one_at_a_time


def _mount(environ: Environ, root: str) -> Environ:
    """Cut the relative root off, and keep encoded slashes: they are inside of a project's or file's path."""
    raw = str(environ["REQUEST_URI"]).partition("?")[0]
    if not raw.startswith(f"{root}/"):
        return {"PATH_INFO": "/outside of the relative root"}
    path = unquote(re.sub("%2f", ENCODED_SLASH, raw.removeprefix(root), flags=re.IGNORECASE), "latin-1")
    return {"SCRIPT_NAME": root, "PATH_INFO": path}


@cache
def _routes() -> Flask:
    # Once per process: tests make a sandbox each, and werkzeug takes its time to compile the routes.
    flask = create_flask_app()
    for module in MODULES:
        flask.register_blueprint(module.blueprint)
    return flask
