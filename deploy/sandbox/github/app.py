"""Put the routes together."""

from collections.abc import Iterable

from deploy.sandbox.github.core import Core
from deploy.sandbox.github.page import routes as page
from deploy.sandbox.github.page.markdown import render_markdown
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
from deploy.sandbox.github.web import create_flask_app
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
    """Make the whole WSGI application; requests take effect one after another."""
    flask = create_flask_app(core)
    flask.add_template_filter(render_markdown, "markdown")
    for module in MODULES:
        flask.register_blueprint(module.blueprint)

    def one_at_a_time(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        with core.state.lock:
            return flask(environ, start_response)

    return one_at_a_time
