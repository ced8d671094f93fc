"""Contents of single files on GitHub."""

import base64
from urllib.parse import quote

from bot.forges.base import MAX_FILE_BYTES, FileTooLarge
from bot.forges.github_client import Endpoint, GitHubClient, failure, object_in, understood
from bot.forges.github_transport import RAW


def fetch_file(
    client: GitHubClient, repository: str, path: str, revision: str, *, max_bytes: int = MAX_FILE_BYTES
) -> bytes | None:
    """Read a file at a commit or at the tip of a branch; None if it is not there or is a folder, link or submodule.

    Raises FileTooLarge above `max_bytes`. GitHub puts files up to 1 MB into the JSON and gives larger ones
    only raw: https://docs.github.com/en/rest/repos/contents
    """
    if any(part in {"", ".", ".."} for part in path.split("/")):
        return None  # git knows no such path, and in an address it would lead elsewhere
    endpoint = Endpoint(
        repository=repository,
        path=f"/contents/{quote(path, safe='/', errors='surrogateescape')}",
        what=f"the file {path} of {repository}",
        permission="contents: read",
    )
    reply = client.ask(endpoint, params={"ref": revision})
    if reply.status == 404:
        return None
    if reply.status >= 300:
        raise failure(reply, endpoint)
    with understood(endpoint):
        if isinstance(reply.json(), list):
            return None  # a folder
        fields = object_in(reply, endpoint)
        if fields.get_text("type") != "file":
            return None
        if fields.get_number("size") > max_bytes:
            raise FileTooLarge(f"The file {path} is larger than {max_bytes / 1e6:.0f} MB.")
        if fields.get_text("encoding") == "base64":
            return base64.b64decode(fields.get_text("content"))
    return client.read(endpoint, params={"ref": revision}, accept=RAW).content
