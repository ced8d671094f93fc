"""Who sends a request, and what that account may do.

https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app
"""

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

import jwt
from jwt.types import Options

from deploy.sandbox.github.errors import ApiError, not_accessible_by_integration, not_found
from deploy.sandbox.github.state import LEVELS, GitHubApp, InstallationToken, Repository, State, User, now

JWT_MAX_LIFE_S = 600
TOKEN_LIFE = timedelta(hours=1)
# The times are checked apart from the signature, to answer with GitHub's words.
_TIMES_LATER: Options = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """An authenticated sender: a person, an installation (`token`), or an App with its JWT (`app` alone)."""

    user: User
    app: GitHubApp | None = None
    token: InstallationToken | None = None

    @property
    def is_app_itself(self) -> bool:
        """Tell whether this is a JWT, good for the endpoints of the App only."""
        return self.app is not None and self.token is None


def authenticate(state: State, authorization: str) -> Actor:
    """Find out who sent an Authorization header; raises ApiError 401."""
    if not authorization:
        raise ApiError(401, "Requires authentication")
    scheme, _, credential = authorization.partition(" ")
    credential = credential.strip()
    if scheme.lower() not in ("token", "bearer") or not credential:
        raise ApiError(401, "Bad credentials")
    if credential in state.user_tokens:
        return Actor(user=state.user_tokens[credential])
    token = state.installation_tokens.get(credential)
    if token is not None:
        if now() >= token.expires_at:
            raise ApiError(401, "Bad credentials")
        return Actor(user=token.app.bot, app=token.app, token=token)
    if scheme.lower() == "bearer" and credential.count(".") == 2:
        app = _verify_jwt(state, credential)
        return Actor(user=app.bot, app=app)
    raise ApiError(401, "Bad credentials")


def _verify_jwt(state: State, credential: str) -> GitHubApp:
    undecodable = ApiError(401, "A JSON web token could not be decoded")
    try:
        issuer = str(jwt.decode(credential, options={"verify_signature": False}).get("iss", ""))
    except jwt.InvalidTokenError:
        raise undecodable from None
    app = next((app for app in state.apps.values() if issuer in (str(app.id), f"Iv23li{app.id}")), None)
    if app is None:
        raise ApiError(404, "Integration not found")
    try:
        claims = jwt.decode(credential, app.public_key_pem, algorithms=["RS256"], options=_TIMES_LATER)
    except jwt.InvalidTokenError:
        raise undecodable from None
    _check_times(claims)
    return app


def _check_times(claims: Mapping[str, object]) -> None:
    issued, expires = claims.get("iat"), claims.get("exp")
    moment = time.time()
    if not isinstance(issued, int | float) or issued > moment:
        raise ApiError(
            401,
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was "
            "issued",
        )
    if not isinstance(expires, int | float) or expires <= moment:
        raise ApiError(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at "
            "which the assertion expires",
        )
    if expires > moment + JWT_MAX_LIFE_S:
        raise ApiError(401, "'Expiration time' claim ('exp') is too far in the future")


def issue_token(
    state: State, app: GitHubApp, permissions: Mapping[str, str] | None, repositories: Iterable[str] | None
) -> InstallationToken:
    """Make an installation token with all of the App's permissions or some of them; raises ApiError 422."""
    wanted = dict(permissions or app.permissions)
    for name, level in wanted.items():
        if not _covers(app.permissions.get(name), level) and name != "metadata":
            raise ApiError(422, "The permissions requested are not granted to this installation.")
    token = InstallationToken(
        # Long since April 2026, when tokens became self-contained; clients must not count on 40 characters.
        token=f"ghs_{app.id}_{secrets.token_urlsafe(300)}",
        app=app,
        permissions={"metadata": "read"} | wanted,
        expires_at=now() + TOKEN_LIFE,
        repositories=None if repositories is None else frozenset(repositories),
    )
    state.installation_tokens[token.token] = token
    return token


def require_repository(actor: Actor, repository: Repository | None) -> Repository:
    """Return the repository if this account may know of it; raises ApiError 404."""
    if repository is None:
        raise not_found()
    if (
        actor.token
        and actor.token.repositories is not None
        and repository.name not in actor.token.repositories
    ):
        raise not_found()
    if not actor.app and actor.user.permission == "none":
        raise not_found()
    return repository


def require_permission(actor: Actor, needed: str) -> None:
    """Raise ApiError unless the account has one of the permissions in `needed`.

    `needed` reads "pull_requests:write" or "issues:write|pull_requests:write". People need the repository
    role that the level names only for what changes the repository itself: whoever can read may comment.
    """
    options = [option.split(":") for option in needed.split("|")]
    if actor.is_app_itself:
        raise ApiError(401, "Bad credentials")
    if actor.token:
        granted = actor.token.permissions
        if not any(_covers(granted.get(name), level) for name, level in options):
            raise not_accessible_by_integration()
        return
    name, level = options[0]
    role = level if name in ("statuses", "contents", "repository_hooks") else "read"
    if not _covers(actor.user.permission, role):
        raise not_found() if role != "admin" else ApiError(403, "Must have admin rights to Repository.")


def _covers(granted: str | None, level: str) -> bool:
    return LEVELS.index(granted or "none") >= LEVELS.index(level)
