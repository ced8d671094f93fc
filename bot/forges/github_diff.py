"""The diff of a pull request on GitHub, however large."""

from bot.events import PullRequestRef
from bot.forges.base import BlindSpot, FetchedDiff, ForgeUnavailable, MissingFile, PullRequest
from bot.forges.blobs import MAX_COMPARED_FILES, compare_versions
from bot.forges.git_format import Change, FileChange
from bot.forges.github_client import Endpoint, GitHubClient, failure, object_in, understood
from bot.forges.github_errors import Reply
from bot.forges.github_files import fetch_file
from bot.forges.github_transport import DIFF
from bot.forges.payload import Fields
from bot.forges.raw_diff import RawDiff

# https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files
MAX_LISTED_FILES = 3_000
# Of long files GitHub sends no patch, and takes no comment on their lines. It does not say from which length on;
# seen for 6,736 lines and for 373 kB.
_SURELY_SHOWN_BYTES = 50_000
_UNTOLD = "\N{REPLACEMENT CHARACTER}"
# https://docs.github.com/en/rest/commits/commits#compare-two-commits
MAX_COMPARISON_FILES = 300

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
        return FetchedDiff(data=reply.content, blind_spots=_find_blind_spots(client, pull, reply.content))
    if not _is_too_large(reply):
        raise failure(reply, pull)
    return _put_together(client, pull, pull_request, max_compared_files)


def fetch_diff_since(
    client: GitHubClient, ref: PullRequestRef, old_sha: str, new_sha: str
) -> FetchedDiff | None:
    """Read the diff between two commits; None if the old one is no ancestor, or GitHub gives not all of it.

    Files that GitHub sends no diff of are named as missing: they are not worth more requests here.
    """
    endpoint = Endpoint(
        repository=ref.repository,
        path=f"/compare/{old_sha}...{new_sha}",
        what=f"what is new on {ref.repository}#{ref.number}",
        permission="contents: read",
    )
    # The commits come in pages, the files all on the first.
    reply = client.ask(endpoint, params={"per_page": 1})
    if reply.status == 404 or _is_too_large(reply):
        return None
    if reply.status >= 300:
        raise failure(reply, endpoint)
    sections: list[bytes] = []
    missing: list[MissingFile] = []
    with understood(endpoint):
        comparison = object_in(reply, endpoint)
        listed = comparison.get_objects("files")
        if comparison.get_text("status") not in {"ahead", "identical"} or len(listed) >= MAX_COMPARISON_FILES:
            return None
        for fields in listed:
            file, hunks = _file_of(fields), _complete_patch(fields)
            if file is None:
                continue
            if hunks is not None:
                sections.append(file.with_hunks(hunks))
            elif file.change is Change.RENAMED and not fields.find_number("changes"):
                sections.append(file.without_hunks())
            else:
                missing.append(MissingFile(path=file.new_path, reason="GitHub sends no diff of it"))
    return FetchedDiff(data=b"".join(sections), missing=tuple(missing))


def _is_too_large(reply: Reply) -> bool:
    """Tell a diff that is too much for GitHub from a server that is down."""
    return reply.status == 406 or "too_large" in reply.text or ("diff" in reply.text and reply.status >= 422)


def _put_together(
    client: GitHubClient, pull: Endpoint, pull_request: PullRequest, max_compared_files: int
) -> FetchedDiff:
    endpoint = _files_of(pull)
    listed = client.read_list(endpoint)
    sections: list[bytes] = []
    missing: list[MissingFile] = []
    blind_spots: list[BlindSpot] = []
    compared = 0
    for fields in listed:
        with understood(endpoint):
            file = _file_of(fields)
            hunks = _complete_patch(fields)
            has_lines = bool(fields.find_number("changes"))
        if file is None:
            continue
        if hunks is None:
            blind_spots.append(BlindSpot(path=file.new_path))
        elif _UNTOLD.encode() in hunks:
            hunks = None  # JSON cannot carry what was there: comparing the versions can
        if _UNTOLD in file.old_path + file.new_path:
            missing.append(MissingFile(path=file.new_path, reason="its name is not UTF-8"))
        elif hunks is not None:
            sections.append(file.with_hunks(hunks))
        elif file.change in {Change.RENAMED, Change.COPIED} and not has_lines:
            sections.append(file.without_hunks())
        elif compared >= max_compared_files:
            missing.append(
                MissingFile(path=file.new_path, reason="one of too many files that GitHub sends no diff of")
            )
        else:
            compared += 1
            section = compare_versions(
                file,
                lambda path, sha, max_bytes: fetch_file(
                    client, pull_request.ref.repository, path, sha, max_bytes=max_bytes
                ),
                base_sha=pull_request.base_sha,
                head_sha=pull_request.head_sha,
                forge="GitHub",
            )
            (sections if isinstance(section, bytes) else missing).append(section)  # type: ignore[arg-type]  # narrowed
    total = client.read_object(pull)
    with understood(pull):
        unlisted = (total.find_number("changed_files") or 0) - len(listed)
    if unlisted > 0:
        reason = f"GitHub lists at most {MAX_LISTED_FILES:,} files of a pull request"
        missing.append(MissingFile(path=f"{unlisted:,} more files", reason=reason))
    return FetchedDiff(data=b"".join(sections), missing=tuple(missing), blind_spots=tuple(blind_spots))


def _find_blind_spots(client: GitHubClient, pull: Endpoint, data: bytes) -> tuple[BlindSpot, ...]:
    """Ask for the files of which GitHub shows no line, where there may be such: it takes no comment there."""
    raw = RawDiff.read(data)
    # A file that became a link, or the other way round, has two sections.
    if raw is None or not any(
        len(texts) > 1 or any(len(text) > _SURELY_SHOWN_BYTES for text in texts)
        for texts in raw.sections.values()
    ):
        return ()
    endpoint = _files_of(pull)
    listed = client.read_list(endpoint)
    with understood(endpoint):
        return tuple(
            BlindSpot(path=_name(fields, "filename")) for fields in listed if _complete_patch(fields) is None
        )


def _files_of(pull: Endpoint) -> Endpoint:
    return Endpoint(
        repository=pull.repository,
        path=f"{pull.path}/files",
        what=f"the files of {pull.what.removeprefix('the diff of ')}",
        permission=pull.permission,
    )


def _file_of(fields: Fields) -> FileChange | None:
    change = _CHANGES.get(fields.get_text("status"))
    if change is None:  # "unchanged"
        return None
    new_path = _name(fields, "filename")
    old_path = _name(fields, "previous_filename") if fields.has("previous_filename") else new_path
    return FileChange(old_path=old_path, new_path=new_path, change=change)


def _name(fields: Fields, key: str) -> str:
    """Read a file's name; what in it is no text is replaced, so that it is known not to be the real one."""
    value = fields.data.get(key)
    if not isinstance(value, str):
        return fields.get_text(key)
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


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
