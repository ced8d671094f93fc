"""Who sends a request, and what that token and account may do.

https://docs.gitlab.com/api/rest/authentication/
"""

from collections.abc import Mapping

from deploy.sandbox.gitlab.errors import forbidden, insufficient_scope, not_found, unauthorized
from deploy.sandbox.gitlab.state import Project, State, Token

REPORTER = 20


def authenticate(state: State, headers: Mapping[str, str]) -> Token:
    """Find out whose token came, and how; raises ApiError 401."""
    job_token = headers.get("Job-Token")
    scheme, _, credential = headers.get("Authorization", "").partition(" ")
    value = headers.get("Private-Token") or (credential.strip() if scheme.lower() == "bearer" else "")
    token = state.tokens.get(job_token or value)
    if token is None or token.is_job_token != bool(job_token):
        raise unauthorized()
    return token


def require_scope(token: Token, method: str, *, allows_job_token: bool) -> None:
    """Raise ApiError unless a token of these scopes may call an endpoint by this method."""
    if token.is_job_token:
        if not allows_job_token:
            raise unauthorized()
        return
    reads = method in ("GET", "HEAD")
    enough = {"api", "read_api"} if reads else {"api"}
    if not token.scopes & enough:
        raise insufficient_scope("read_api" if reads else "api")


def require_project(token: Token, project: Project | None) -> Project:
    """Return the project if this account may know of it, for all are private; raises ApiError 404."""
    if project is None or token.user.access_level <= 0:
        raise not_found("Project")
    return project


def require_level(token: Token, level: int) -> None:
    """Raise ApiError 403 for an account with too low a role."""
    if token.user.access_level < level:
        raise forbidden()
