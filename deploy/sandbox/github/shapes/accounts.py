"""JSON of users, Apps and installations."""

import base64
from datetime import datetime
from typing import Any

from deploy.sandbox.github.state import GitHubApp, InstallationToken, Repository, State, User

Json = dict[str, Any]


def timestamp(moment: datetime | None) -> str | None:
    """Write a time as GitHub does, or null."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def node_id(kind: str, number: int) -> str:
    """Make the id that GraphQL knows an object by."""
    return base64.b64encode(f"{len(kind):03}:{kind}{number}".encode()).decode()


def user_json(state: State, user: User) -> Json:
    """Shape a user (schema simple-user)."""
    url = f"{state.api_url}/users/{user.login}"
    return {
        "login": user.login,
        "id": user.id,
        "node_id": node_id(user.kind, user.id),
        "avatar_url": f"{state.url}/avatars/u/{user.id}?v=4",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{state.url}/{user.login}",
        "followers_url": f"{url}/followers",
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events{{/privacy}}",
        "received_events_url": f"{url}/received_events",
        "type": user.kind,
        "user_view_type": "public",
        "site_admin": False,
    }


def public_user_json(state: State, user: User) -> Json:
    """Shape the user of the token (schema public-user)."""
    blank = dict.fromkeys(("name", "company", "location", "email", "hireable", "bio", "twitter_username"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    dates = {"created_at": "2026-01-05T09:00:00Z", "updated_at": "2026-01-05T09:00:00Z"}
    return user_json(state, user) | blank | {"blog": ""} | counts | dates


def organization_json(state: State, user: User) -> Json:
    """Shape the organization of a webhook (schema organization-simple-webhooks)."""
    url = f"{state.api_url}/orgs/{user.login}"
    return {
        "login": user.login,
        "id": user.id,
        "node_id": node_id("Organization", user.id),
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": f"{url}/members{{/member}}",
        "public_members_url": f"{url}/public_members{{/member}}",
        "avatar_url": f"{state.url}/avatars/u/{user.id}?v=4",
        "description": None,
    }


def app_json(state: State, app: GitHubApp) -> Json:
    """Shape an App (schema integration)."""
    return {
        "id": app.id,
        "slug": app.slug,
        "client_id": f"Iv23li{app.id}",
        "node_id": node_id("App", app.id),
        "owner": user_json(state, app.bot) | {"login": app.slug, "type": "Organization"},
        "name": app.slug,
        "description": "",
        "external_url": state.url,
        "html_url": f"{state.url}/apps/{app.slug}",
        "created_at": timestamp(app.created_at),
        "updated_at": timestamp(app.created_at),
        "permissions": app.permissions,
        "events": ["issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"],
    }


def installation_json(state: State, app: GitHubApp, account: User) -> Json:
    """Shape an App's installation on an account (schema installation)."""
    url = f"{state.api_url}/app/installations/{app.installation_id}"
    return {
        "id": app.installation_id,
        "account": user_json(state, account),
        "repository_selection": "all",
        "access_tokens_url": f"{url}/access_tokens",
        "repositories_url": f"{state.api_url}/installation/repositories",
        "html_url": f"{state.url}/organizations/{account.login}/settings/installations/{app.installation_id}",
        "app_id": app.id,
        "app_slug": app.slug,
        "client_id": f"Iv23li{app.id}",
        "target_id": account.id,
        "target_type": account.kind,
        "permissions": app.permissions,
        "events": ["issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"],
        "created_at": timestamp(app.created_at),
        "updated_at": timestamp(app.created_at),
        "single_file_name": None,
        "suspended_at": None,
        "suspended_by": None,
    }


def installation_token_json(token: InstallationToken) -> Json:
    """Shape a new installation token (schema installation-token)."""
    return {
        "token": token.token,
        "expires_at": timestamp(token.expires_at),
        "permissions": token.permissions,
        "repository_selection": "all" if token.repositories is None else "selected",
    }


def author_association(user: User, repository: Repository) -> str:
    """Say how a user relates to the repository, as lazily as GitHub does.

    People with write access appear as CONTRIBUTOR, like private members of an organization do there: whoever
    takes this field for an authorization gets it wrong here too.
    """
    if user is repository.owner:
        return "OWNER"
    return "CONTRIBUTOR" if user.permission in ("write", "admin") and user.kind == "User" else "NONE"
