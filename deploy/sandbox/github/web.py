"""The Flask application and what its routes share: the sender, permissions, bodies, paging, errors."""

import json
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Flask, Response, g, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from deploy.sandbox.github.auth import Actor, authenticate, require_permission, require_repository
from deploy.sandbox.github.core import Core
from deploy.sandbox.github.errors import ApiError, invalid_request, not_found
from deploy.sandbox.github.state import Pull, Repository

PREFIX = "/api/v3"
CORE = "redline.sandbox"  # where a request's environment names its sandbox
PER_PAGE = 30
PER_PAGE_MAX = 100
View = Callable[..., ResponseReturnValue]


def core() -> Core:
    """Return the sandbox that this request is for."""
    found: Core = request.environ[CORE]
    return found


def actor() -> Actor:
    """Return the sender of this request."""
    found: Actor = g.actor
    return found


def api_blueprint(name: str, import_name: str) -> Blueprint:
    """Make a blueprint below the API's prefix, with GitHub's authentication, limits and errors."""
    blueprint = Blueprint(name, import_name, url_prefix=PREFIX)
    blueprint.before_request(_authenticate)
    blueprint.after_request(_add_headers)
    return blueprint


def allow(needed: str, *, creates_content: bool = False) -> Callable[[View], View]:
    """Check permissions, and give the view its Repository and Pull instead of owner, repo and number."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(owner: str, repo: str, **arguments: object) -> ResponseReturnValue:
            found = core().state.repositories.get(f"{owner}/{repo}".lower())
            repository = require_repository(actor(), found)
            require_permission(actor(), needed)
            if creates_content:
                core().limits.count_content()
            if "pull_number" in arguments:
                arguments["pull"] = find_pull(repository, int(str(arguments.pop("pull_number"))))
            return view(repository, **arguments)

        return checked

    return decorate


def find_pull(repository: Repository, number: int) -> Pull:
    """Find a pull request; raises ApiError 404."""
    issue = repository.issues.get(number)
    if not isinstance(issue, Pull):
        raise not_found()
    return issue


def body(*required: str) -> dict[str, Any]:
    """Decode the JSON object of the request; raises ApiError 400 or 422."""
    if not request.get_data():
        decoded: Any = {}
    else:
        try:
            decoded = json.loads(request.get_data())
        except ValueError:
            raise ApiError(400, "Problems parsing JSON") from None
    if not isinstance(decoded, dict):
        raise ApiError(400, "Body should be a JSON object")
    for name in required:
        if decoded.get(name) is None:
            raise invalid_request(f'"{name}" wasn\'t supplied.')
    return decoded


def page(shaped: Sequence[Any], shape: Callable[[Any], Any], *, wrap: str | None = None) -> Response:
    """Answer one page of a list with GitHub's Link header; `wrap` names the list inside an object."""
    per_page = min(max(request.args.get("per_page", PER_PAGE, int), 1), PER_PAGE_MAX)
    number = max(request.args.get("page", 1, int), 1)
    last = max(-(-len(shaped) // per_page), 1)
    items = [shape(item) for item in shaped[(number - 1) * per_page : number * per_page]]
    response = jsonify({"total_count": len(shaped), wrap: items} if wrap else items)
    links = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    if number >= last:
        del links["next"], links["last"]
    if number <= 1:
        del links["prev"], links["first"]
    if links:
        response.headers["Link"] = ", ".join(f'<{_page_url(to)}>; rel="{name}"' for name, to in links.items())
    return response


def wants(*kinds: str) -> bool:
    """Tell whether the Accept header asks for a media type such as "diff", with or without the version."""
    accept = request.headers.get("Accept", "")
    return any(f"application/vnd.github.{middle}{kind}" in accept for kind in kinds for middle in ("", "v3."))


def text(data: bytes, media_type: str) -> Response:
    """Answer bytes as they are."""
    return Response(data, content_type=f"application/vnd.github.v3.{media_type}; charset=utf-8")


def create_flask_app() -> Flask:
    """Make the application, without routes."""
    app = Flask("deploy.sandbox.github", template_folder="../page/templates", static_folder=None)
    app.json.sort_keys = False  # type: ignore[attr-defined]  # DefaultJSONProvider has it, its base does not
    app.url_map.merge_slashes = False
    app.register_error_handler(ApiError, _api_error)
    app.register_error_handler(HTTPException, _http_error)
    return app


def _authenticate() -> None:
    g.rate_headers = {}
    g.actor = authenticate(core().state, request.headers.get("Authorization", ""))
    g.rate_headers = core().limits.count_request(g.actor.user.login)


def _add_headers(response: Response) -> Response:
    response.headers.extend(g.get("rate_headers", {}))
    response.headers["X-GitHub-Media-Type"] = "github.v3; format=json"
    if response.mimetype == "application/json":
        response.headers["Content-Type"] = "application/json; charset=utf-8"
    return response


def _api_error(error: ApiError) -> Response:
    response = jsonify(error.body)
    response.status_code = error.status
    response.headers.extend(error.headers)
    return response


def _http_error(error: HTTPException) -> Response:
    return _api_error(ApiError(error.code or 500, error.name))


def _page_url(number: int) -> str:
    arguments = [(name, value) for name, value in request.args.items(multi=True) if name != "page"]
    return f"{request.base_url}?{urlencode([*arguments, ('page', str(number))])}"
