"""How GitLab names things: projects, and the accounts that belong to no person."""

import re

FORGE = "gitlab"

_PART = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]+"
# Groups nest up to 20 deep: https://docs.gitlab.com/user/group/subgroups/
_PROJECT = re.compile(rf"{_PART}(?:/{_PART}){{1,21}}")
# https://docs.gitlab.com/user/project/settings/project_access_tokens/#bot-users-for-projects
_BOT = re.compile(r"(?:project|group)_[0-9]+_bot(?:_.*)?|service_account_.*", re.IGNORECASE)


def is_project_path(path: str) -> bool:
    """Tell whether this is the full path of a project, its groups included."""
    return _PROJECT.fullmatch(path) is not None


def is_bot_name(username: str) -> bool:
    """Tell by its name whether an account belongs to an access token or is a service account.

    Neither hooks nor notes carry a flag for it. Own notes are known by their marker as well.
    """
    return _BOT.fullmatch(username) is not None
