"""Contents of single files on GitLab."""

from urllib.parse import quote

from bot.forges.base import MAX_FILE_BYTES
from bot.forges.gitlab_client import Endpoint, GitLabClient, failure


def fetch_file(
    client: GitLabClient, project: str, path: str, revision: str, *, max_bytes: int = MAX_FILE_BYTES
) -> bytes | None:
    """Read a file at a commit or at the tip of a branch; None if it is not there or is a folder or submodule.

    For a link GitLab gives its target's name. Raises FileTooLarge above `max_bytes`, of which no more is read.
    https://docs.gitlab.com/api/repository_files/#get-raw-file-from-repository
    """
    if any(part in {"", ".", ".."} for part in path.split("/")):
        return None  # git knows no such path, and in an address it would lead elsewhere
    endpoint = Endpoint(
        project=project,
        path=f"/repository/files/{quote(path, safe='', errors='surrogateescape')}/raw",
        what=f"the file {path} of {project}",
    )
    reply = client.ask(endpoint, params={"ref": revision}, max_bytes=max_bytes)
    if reply.status == 404:
        return None
    if reply.status >= 300:
        raise failure(reply, endpoint)
    return reply.content
