"""Which forges are configured, and a client for each, made when it is first needed."""

import threading
from collections.abc import Callable

from bot.forges.base import Forge, ForgeDenied
from bot.forges.github import github_is_configured, open_github
from bot.forges.github_key import read_private_key
from bot.forges.gitlab import open_gitlab
from bot.forges.gitlab_access import check_gitlab_access
from bot.settings import Settings, SettingsError


def check_access(settings: Settings) -> None:
    """Look, without asking a forge, whether what its webhooks ask for could be done; raises SettingsError."""
    if settings.github_webhook_secrets and not github_is_configured(settings):
        raise SettingsError(
            "REDLINE_GITHUB_WEBHOOK_SECRET is set, but nothing to review with: set REDLINE_GITHUB_TOKEN, or "
            "REDLINE_GITHUB_APP_ID and REDLINE_GITHUB_PRIVATE_KEY_FILE, too"
        )
    if settings.github_private_key_file:
        try:
            read_private_key(settings.github_private_key_file)
        except ForgeDenied as error:
            raise SettingsError(str(error)) from None
    check_gitlab_access(settings)


def open_forges(settings: Settings) -> Callable[[str], Forge]:
    """Give a function that returns the client of a forge by name; it raises ForgeDenied for one without a token."""
    clients: dict[str, Forge] = {}
    lock = threading.Lock()

    def forge_of(name: str) -> Forge:
        with lock:
            if name not in clients:
                clients[name] = _open(name, settings)
            return clients[name]

    return forge_of


def _open(name: str, settings: Settings) -> Forge:
    if name == "github" and github_is_configured(settings):
        return open_github(settings)
    if name == "gitlab":
        return open_gitlab(settings)
    raise ForgeDenied(
        f"Redline has no access to {name}: set REDLINE_GITHUB_TOKEN, or REDLINE_GITHUB_APP_ID and "
        "REDLINE_GITHUB_PRIVATE_KEY_FILE."
    )
