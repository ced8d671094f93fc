"""The diff of a pull request on GitHub, however large."""

from bot.forges.base import FetchedDiff, ForgeUnavailable, MissingFile, PullRequest
from bot.forges.git_format import Change, FileChange, write_section
from bot.forges.github_client import Endpoint, GitHubClient, failure, understood
from bot.forges.github_errors import Reply
from bot.forges.github_files import FileTooLarge, fetch_file
from bot.forges.github_transport import DIFF
from bot.forges.payload import Fields

# https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files
MAX_LISTED_FILES = 3_000
MAX_COMPARED_BYTES = 1_000_000
MAX_COMPARED_FILES = 100  # each costs two requests of an hourly budget that all repositories share

_CHANGES = {
    "added": Change.ADDED,
    "removed": Change.REMOVED,
    "modified": Change.MODIFIED,
    "changed": Change.MODIFIED,
    "renamed": Change.RENAMED,
    "copied": Change.COPIED,
}


def fetch_diff(
    client: GitHubClient, pull_request: PullRequest, *, max_compared_files: int = MAX_COMPARED_FILES
) -> FetchedDiff:
    """Read the diff as bytes; where GitHub finds it too large, put it together from the list of files.

    GitHub refuses above 300 files, 20,000 lines or 1 MB:
    https://docs.github.com/en/repositories/creating-and-managing-repositories/repository-limits
    """
    ref = pull_request.ref
    pull = Endpoint(
        repository=ref.repository,
        path=f"/pulls/{ref.number}",
        what=f"the diff of {ref.repository}#{ref.number}",
        permission="pull requests: read",
    )
    reply = client.ask(pull, accept=DIFF)
    if reply.status == 200:
        if "json" in reply.headers.get("content-type", ""):
            raise ForgeUnavailable(
                f"GitHub answered with JSON in place of {pull.what}: a proxy may drop Accept."
            )
        return FetchedDiff(data=reply.content)
    if not _is_too_large(reply):
        raise failure(reply, pull)
    return _put_together(client, pull, pull_request, max_compared_files)


def _is_too_large(reply: Reply) -> bool:
    """Tell a diff that is too much for GitHub from a server that is down."""
    return reply.status == 406 or "too_large" in reply.text or ("diff" in reply.text and reply.status >= 422)


def _put_together(
    client: GitHubClient, pull: Endpoint, pull_request: PullRequest, max_compared_files: int
) -> FetchedDiff:
    endpoint = Endpoint(
        repository=pull.repository,
        path=f"{pull.path}/files",
        what=f"the files of {pull_request.ref.repository}#{pull_request.ref.number}",
        permission=pull.permission,
    )
    listed = client.read_list(endpoint)
    sections: list[bytes] = []
    missing: list[MissingFile] = []
    compared = 0
    for fields in listed:
        with understood(endpoint):
            file = _file_of(fields)
            hunks = _complete_patch(fields)
            has_lines = bool(fields.find_number("changes"))
        if file is None:
            continue
        if hunks is not None:
            sections.append(file.with_hunks(hunks))
        elif file.change in {Change.RENAMED, Change.COPIED} and not has_lines:
            sections.append(file.without_hunks())
        elif compared >= max_compared_files:
            missing.append(
                MissingFile(path=file.new_path, reason="one of too many files that GitHub sends no diff of")
            )
        else:
            compared += 1
            section = _compare(client, pull_request, file)
            (sections if isinstance(section, bytes) else missing).append(section)  # type: ignore[arg-type]  # narrowed
    total = client.read_object(pull)
    with understood(pull):
        unlisted = (total.find_number("changed_files") or 0) - len(listed)
    if unlisted > 0:
        reason = f"GitHub lists at most {MAX_LISTED_FILES:,} files of a pull request"
        missing.append(MissingFile(path=f"{unlisted:,} more files", reason=reason))
    return FetchedDiff(data=b"".join(sections), missing=tuple(missing))


def _file_of(fields: Fields) -> FileChange | None:
    change = _CHANGES.get(fields.get_text("status"))
    if change is None:  # "unchanged"
        return None
    new_path = fields.get_text("filename")
    old_path = fields.find_text("previous_filename") or new_path
    return FileChange(old_path=old_path, new_path=new_path, change=change)


def _complete_patch(fields: Fields) -> bytes | None:
    """Give the hunks if they hold all the lines that were counted; a patch that is cut short is no patch."""
    patch = fields.data.get("patch")
    if not isinstance(patch, str) or not patch.startswith("@@ "):
        return None
    signs = [line[:1] for line in patch.split("\n")]
    counts = (fields.find_number("additions"), fields.find_number("deletions"))
    if counts != (signs.count("+"), signs.count("-")):
        return None
    return patch.encode("utf-8", "surrogatepass")


def _compare(client: GitHubClient, pull_request: PullRequest, file: FileChange) -> bytes | MissingFile:
    """Fetch both versions of a file that came without a patch, and compare them here."""
    repository = pull_request.ref.repository
    old: bytes | None = b""
    new: bytes | None = b""
    try:
        if file.change is not Change.ADDED:
            old = fetch_file(
                client, repository, file.old_path, pull_request.base_sha, max_bytes=MAX_COMPARED_BYTES
            )
        if file.change is not Change.REMOVED:
            new = fetch_file(
                client, repository, file.new_path, pull_request.head_sha, max_bytes=MAX_COMPARED_BYTES
            )
    except FileTooLarge:
        limit = MAX_COMPARED_BYTES / 1e6
        return MissingFile(
            path=file.new_path, reason=f"GitHub sends no diff of it and it is larger than {limit:.0f} MB"
        )
    if old is None or new is None:
        return MissingFile(path=file.new_path, reason="GitHub sends no diff of it and it is no plain file")
    try:
        return write_section(file, old, new)
    except OSError as error:
        return MissingFile(
            path=file.new_path, reason=f"GitHub sends no diff of it and comparing failed: {error}"
        )
