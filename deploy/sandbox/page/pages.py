"""The blueprint of the pages, which load nothing and run nothing."""

from flask import Blueprint, Response

from deploy.sandbox.page.markdown import render_markdown

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page_blueprint(import_name: str, forge: str) -> Blueprint:
    """Make a blueprint with the templates and the page of errors in the name of a forge."""
    blueprint = Blueprint("page", import_name)

    @blueprint.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @blueprint.after_request
    def forbid_everything_but_styles(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = POLICY
        return response

    blueprint.add_app_template_filter(render_markdown, "markdown")
    blueprint.context_processor(lambda: {"forge": forge})
    return blueprint
