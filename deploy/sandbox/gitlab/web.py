"""The Flask application and what its routes share: the sender, parameters, paging, errors."""

import base64
import json
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Flask, Response, g, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from deploy.sandbox.gitlab.auth import authenticate, require_level, require_project, require_scope
from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.errors import ApiError, invalid_params, not_found
from deploy.sandbox.gitlab.state import MergeRequest, Project, Token, User

PREFIX = "/api/v4"
CORE = "redline.sandbox"  # where a request's environment names its sandbox
ENCODED_SLASH = "\0"  # stands for %2F in a segment of the path, where nothing else is a NUL
PER_PAGE = 20
PER_PAGE_MAX = 100
COUNTED_MAX = (
    10_000  # of longer lists nobody is told the length: https://docs.gitlab.com/api/rest/#pagination
)
View = Callable[..., ResponseReturnValue]


def core() -> Core:
    """Return the sandbox that this request is for."""
    found: Core = request.environ[CORE]
    return found


def token() -> Token:
    """Return the token of this request."""
    found: Token = g.token
    return found


def user() -> User:
    """Return the sender of this request."""
    return token().user


def api_blueprint(name: str, import_name: str) -> Blueprint:
    """Make a blueprint below the API's prefix, with GitLab's authentication and limits."""
    blueprint = Blueprint(name, import_name, url_prefix=PREFIX)
    blueprint.before_request(_authenticate)
    return blueprint


def allow(level: int, *, job_token: bool = False) -> Callable[[View], View]:
    """Check scope and role, and give the view its Project and MergeRequest instead of their ids."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(**arguments: object) -> ResponseReturnValue:
            require_scope(token(), request.method, allows_job_token=job_token)
            project = None
            if "project_id" in arguments:
                project = find_project(str(arguments.pop("project_id")))
                arguments["project"] = project
            require_level(token(), level)
            if project and "iid" in arguments:
                arguments["merge_request"] = find_merge_request(project, int(str(arguments.pop("iid"))))
                del arguments["project"]
            return view(**arguments)

        return checked

    return decorate


def find_project(identity: str) -> Project:
    """Find a project by its number or its encoded path; raises ApiError 404."""
    state = core().state
    if identity.isdecimal():
        found = next((one for one in state.projects.values() if one.id == int(identity)), None)
    else:
        found = state.projects.get(decode(identity).lower())
    return require_project(token(), found)


def decode(segment: str) -> str:
    """Return a segment of the path with its encoded slashes as slashes."""
    return segment.replace(ENCODED_SLASH, "/")


def find_merge_request(project: Project, iid: int) -> MergeRequest:
    """Find a merge request; raises ApiError 404."""
    found = project.merge_requests.get(iid)
    if found is None:
        raise not_found("Merge Request")
    return found


def params(*required: str) -> dict[str, Any]:
    """Collect the parameters of query, form and JSON body; raises ApiError 400 if one is missing."""
    given: dict[str, Any] = dict(request.args.items()) | dict(request.form.items())
    if request.mimetype == "application/json" and request.get_data():
        try:
            decoded = json.loads(request.get_data())
        except ValueError:
            raise ApiError(400, {"error": "message body does not match declared format"}) from None
        if not isinstance(decoded, dict):
            raise ApiError(400, {"error": "The request could not be processed."})
        given |= decoded
    missing = [f"{name} is missing" for name in required if given.get(name) is None]
    if missing:
        raise invalid_params(*missing)
    return given


def text_param(given: dict[str, Any], name: str) -> str:
    """Return a parameter that must be text; raises ApiError 400."""
    value = given[name]
    if not isinstance(value, str):
        raise invalid_params(f"{name} is invalid")
    return value


def flag(value: object) -> bool:
    """Read a boolean as the API does, from JSON or from a query."""
    return str(value).lower() in ("true", "1", "t", "on", "yes")


def page(items: Sequence[Any], shape: Callable[[Any], Any]) -> Response:
    """Answer one page of a list with GitLab's headers; `pagination=keyset` knows the next page alone."""
    per_page = min(max(request.args.get("per_page", PER_PAGE, int), 1), PER_PAGE_MAX)
    is_keyset = request.args.get("pagination") == "keyset"
    number = _cursor() if is_keyset else max(request.args.get("page", 1, int), 1)
    last = max(-(-len(items) // per_page), 1)
    response = jsonify([shape(item) for item in items[(number - 1) * per_page : number * per_page]])
    numbers = {"prev": number - 1, "next": number + 1, "first": 1, "last": last}
    if number >= last:
        del numbers["next"]
    if number <= 1:
        del numbers["prev"]
    if len(items) > COUNTED_MAX:
        del numbers["last"]
    if is_keyset:
        numbers = {name: to for name, to in numbers.items() if name == "next"}
    else:
        response.headers["X-Page"] = str(number)
        response.headers["X-Per-Page"] = str(per_page)
        response.headers["X-Next-Page"] = str(numbers.get("next", ""))
        response.headers["X-Prev-Page"] = str(numbers.get("prev", ""))
        if len(items) <= COUNTED_MAX:
            response.headers["X-Total"] = str(len(items))
            response.headers["X-Total-Pages"] = str(last)
    links = [f'<{_page_url(to, keyset=is_keyset)}>; rel="{name}"' for name, to in numbers.items()]
    if links:
        response.headers["Link"] = ", ".join(links)
    return response


def create_flask_app() -> Flask:
    """Make the application, without routes."""
    app = Flask("deploy.sandbox.gitlab", template_folder="../page/templates", static_folder=None)
    app.json.sort_keys = False  # type: ignore[attr-defined]  # DefaultJSONProvider has it, its base does not
    app.url_map.merge_slashes = False
    app.register_error_handler(ApiError, _api_error)
    app.register_error_handler(HTTPException, _http_error)
    return app


def _authenticate() -> None:
    core().limits.count_request()
    g.token = authenticate(core().state, dict(request.headers.items()))


def _api_error(error: ApiError) -> Response:
    response = Response(error.body) if isinstance(error.body, str) else jsonify(error.body)
    response.status_code = error.status
    response.headers.update(error.headers)
    return response


def _http_error(error: HTTPException) -> Response:
    return _api_error(ApiError(error.code or 500, {"error": f"{error.code} {error.name}"}))


def _cursor() -> int:
    try:
        return int(base64.urlsafe_b64decode(request.args.get("cursor", "")).decode() or "1")
    except ValueError:
        raise invalid_params("cursor is invalid") from None


def _page_url(number: int, *, keyset: bool) -> str:
    where = ("cursor", base64.urlsafe_b64encode(str(number).encode()).decode())
    here = where if keyset else ("page", str(number))
    arguments = [(name, value) for name, value in request.args.items(multi=True) if name != here[0]]
    # The host is the configured one, which need not be the one that the client reached.
    path = request.environ["REQUEST_URI"].partition("?")[0].removeprefix(core().state.relative_root)
    return f"{core().state.web_url}{path}?{urlencode([*arguments, here])}"
