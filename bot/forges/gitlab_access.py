"""Whether the settings for GitLab can work, as far as that can be told without asking it."""

import ssl

from bot.forges.gitlab_signature import is_usable_secret
from bot.settings import Settings, SettingsError

# Tokens that GitLab makes for other purposes; none of them may read a merge request's discussions.
# https://docs.gitlab.com/security/tokens/#token-prefixes
_OTHER_TOKENS = {
    "glcbt-": "a CI_JOB_TOKEN",
    "gldt-": "a deploy token",
    "glrt-": "a runner's token",
    "glptt-": "a trigger token",
    "glft-": "a feed token",
}


def check_gitlab_access(settings: Settings) -> None:
    """Look for what would fail at the first merge request; raises SettingsError with one sentence."""
    token = settings.gitlab_token.get_secret_value().strip()
    if settings.gitlab_webhook_secrets and not token:
        raise SettingsError(
            "REDLINE_GITLAB_WEBHOOK_SECRET is set, but nothing to review with: set REDLINE_GITLAB_TOKEN too"
        )
    for prefix, name in _OTHER_TOKENS.items():
        if token.startswith(prefix):
            raise SettingsError(
                f"REDLINE_GITLAB_TOKEN is {name}, which cannot read discussions: make a project, group or "
                "personal access token with the scope api"
            )
    if not all(map(is_usable_secret, settings.gitlab_webhook_secrets)):
        raise SettingsError(
            "REDLINE_GITLAB_WEBHOOK_SECRET has a signing token that is cut off: copy all of it, whsec_ included"
        )
    if settings.gitlab_ca_file:
        try:
            ssl.create_default_context(cafile=settings.gitlab_ca_file)
        except OSError as error:
            raise SettingsError(
                f"REDLINE_GITLAB_CA_FILE ({settings.gitlab_ca_file}) holds no certificates in PEM form: "
                f"{error.strerror or type(error).__name__}"
            ) from None
