"""The diff of a merge request on GitLab, however large.

GitLab leaves out the text of files that are long, or that come after many others: an empty diff never means
that nothing has changed. What it lists decides which files there are and how they were renamed, since that is
how it looks up where a comment stands. https://docs.gitlab.com/api/merge_requests/#list-merge-request-diffs
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bot.events import PullRequestRef
from bot.forges.base import BlindSpot, FetchedDiff, FileTooLarge, MissingFile, PullRequest
from bot.forges.blobs import MAX_COMPARED_FILES, compare_versions
from bot.forges.git_format import Change, FileChange
from bot.forges.gitlab_client import Endpoint, GitLabClient, failure, object_in, understood
from bot.forges.gitlab_errors import Reply
from bot.forges.gitlab_files import fetch_file
from bot.forges.gitlab_lines import find_miscounted
from bot.forges.gitlab_versions import READY_PAUSES_S, Version, read_newest_version, wait_for
from bot.forges.payload import Fields
from bot.forges.raw_diff import RawDiff

# A file whose diff is longer shows no line, and takes no comment. Where GitLab does not say which those are, its
# default counts: https://docs.gitlab.com/administration/diff_limits/
MAX_PATCH_BYTES = 204_800

_NO_MODE = {"", "0", "000000"}
_REPAIR = "\N{REPLACEMENT CHARACTER}"


@dataclass(slots=True, kw_only=True)
class _Listed:
    """A changed file as GitLab lists it; `section` is None while its text is not known.

    `repaired` is a text in which GitLab has replaced what is not UTF-8. `too_large` tells that no comment can
    stand in the file, None that GitLab does not say.
    """

    change: FileChange
    section: bytes | None
    repaired: bytes | None
    too_large: bool | None

    @property
    def blind_spots(self) -> tuple[BlindSpot, ...]:
        """Give where GitLab takes no comment."""
        path, section = self.change.new_path, self.section or b""
        too_large = self.too_large if self.too_large is not None else len(section) > MAX_PATCH_BYTES
        # A name that GitLab had to repair is not the one that it looks a place up by.
        if too_large or _REPAIR in self.change.old_path + path:
            return (BlindSpot(path=path),)
        return find_miscounted(path, section)


def fetch_diff(
    client: GitLabClient,
    merge_request: Endpoint,
    pull_request: PullRequest,
    *,
    ready_pauses_s: Sequence[float] = READY_PAUSES_S,
    max_compared_files: int = MAX_COMPARED_FILES,
) -> FetchedDiff:
    """Read the diff file by file; what GitLab leaves out is looked for in its raw diff and its comparison of
    the commits, then compared here.

    Raises ForgeUnavailable if GitLab has not made the diff of this head within the pauses, in seconds each.
    """
    version = _wait_for_version(client, merge_request, pull_request, ready_pauses_s)
    diffs = merge_request.below("/diffs", f"the diff of {merge_request.what}")
    entries = client.read_list(diffs)
    with understood(diffs):
        files = [_read_file(entry) for entry in entries]
    is_whole = version.is_whole and len(files) >= version.files
    unlisted = b""
    missing: tuple[MissingFile, ...] = ()
    if not is_whole or _left_out(files):
        raw = _read_raw(client, merge_request.below("/raw_diffs", diffs.what))
        for file in _left_out(files):
            file.section = (raw.section_of(file.change) if raw else None) or file.repaired
        if raw and not is_whole:
            unlisted = raw.sections_beside([file.change for file in files])
        elif not is_whole:
            reason = "GitLab lists no more of the files that this merge request changes"
            missing = (MissingFile(path=f"files after the first {len(files):,}", reason=reason),)
    if _left_out(files):
        _compare_commits(client, pull_request, _left_out(files))
    missing = _compare_files(client, pull_request, _left_out(files), max_compared_files) + missing
    return FetchedDiff(
        data=b"".join(file.section or b"" for file in files) + unlisted,
        missing=missing,
        blind_spots=(*(spot for file in files for spot in file.blind_spots), *_listed_twice(files)),
    )


def _listed_twice(files: Sequence[_Listed]) -> tuple[BlindSpot, ...]:
    """Give the files that are removed and added, as one that became a link: GitLab finds only the first of the two."""
    counts = Counter(file.change.new_path for file in files)
    return tuple(BlindSpot(path=path) for path, count in counts.items() if count > 1)


def fetch_diff_since(
    client: GitLabClient, ref: PullRequestRef, old_sha: str, new_sha: str
) -> FetchedDiff | None:
    """Read the diff between two commits; None if the old one is no ancestor, or GitLab gives not all of it.

    Files that GitLab sends no diff of are named as missing: they are not worth more requests here.
    """
    endpoint = _comparison(ref)
    backwards = _compare(client, endpoint, new_sha, old_sha)
    comparison = _compare(client, endpoint, old_sha, new_sha)
    if backwards is None or comparison is None:
        return None
    with understood(endpoint):
        # What the old commit has that the new one has not makes it no ancestor.
        if backwards.get_objects("commits") or comparison.get_flag("compare_timeout"):
            return None
        files = [_read_file(entry) for entry in comparison.get_objects("diffs")]
    missing = [file.change.new_path for file in _left_out(files)]
    return FetchedDiff(
        data=b"".join(file.section or b"" for file in files),
        missing=tuple(MissingFile(path=path, reason="GitLab sends no diff of it") for path in missing),
    )


def _wait_for_version(
    client: GitLabClient, merge_request: Endpoint, pull_request: PullRequest, pauses_s: Sequence[float]
) -> Version:
    def read() -> Version | None:
        version = read_newest_version(client, merge_request, merge_request.what)
        if version is None or version.head_sha != pull_request.head_sha:
            return None
        # The commits may change nothing: that is known once GitLab has finished with a new merge request.
        is_final = version.is_ready or client.read_object(merge_request).has("prepared_at")
        return version if is_final else None

    return wait_for(read, merge_request.what, pauses_s)


def _left_out(files: Sequence[_Listed]) -> list[_Listed]:
    return [file for file in files if file.section is None]


def _read_file(entry: Fields) -> _Listed:
    change = FileChange(
        old_path=entry.get_text("old_path"),
        new_path=entry.get_text("new_path"),
        change=_change_of(entry),
        old_mode=_mode(entry, "a_mode"),
        new_mode=_mode(entry, "b_mode"),
    )
    too_large = entry.get_flag("too_large") if entry.has("too_large") else None
    text = entry.data.get("diff")
    section = None
    if isinstance(text, str) and not (too_large or entry.get_flag("collapsed")):
        section = _section(change, text)
    if _REPAIR in str(text):
        return _Listed(change=change, section=None, repaired=section, too_large=too_large)
    return _Listed(change=change, section=section, repaired=None, too_large=too_large)


def _change_of(entry: Fields) -> Change:
    if entry.get_flag("new_file"):
        return Change.ADDED
    if entry.get_flag("deleted_file"):
        return Change.REMOVED
    return Change.RENAMED if entry.get_flag("renamed_file") else Change.MODIFIED


def _mode(entry: Fields, key: str) -> str:
    mode = entry.find_text(key)
    return "" if mode in _NO_MODE else mode


def _section(change: FileChange, text: str) -> bytes | None:
    if text.startswith("Binary files "):
        return change.as_binary()
    if text.startswith("--- "):  # some versions give the two lines with the names as well
        text = text[text.find("\n@@ ") + 1 :]
    if not text.startswith("@@ "):
        return None
    return change.with_hunks(text.encode("utf-8", "surrogatepass"))


def _read_raw(client: GitLabClient, endpoint: Endpoint) -> RawDiff | None:
    """Read the diff as git writes it; None where GitLab cannot give it, as before 17.9."""
    try:
        reply = client.ask(endpoint)
    except FileTooLarge:
        return None
    if reply.status >= 300:
        _check_not_denied(reply, endpoint)
        return None
    return RawDiff.read(reply.content)


def _compare_commits(client: GitLabClient, pull_request: PullRequest, files: Sequence[_Listed]) -> None:
    """Let GitLab compare base and head, for which it has other limits, and take from that what it gives."""
    endpoint = _comparison(pull_request.ref)
    comparison = _compare(client, endpoint, pull_request.base_sha, pull_request.head_sha, straight=True)
    if comparison is None:
        return
    with understood(endpoint):
        found = [_read_file(entry) for entry in comparison.get_objects("diffs")]
    sections = {file.change: file.section or file.repaired for file in found}
    for file in files:
        file.section = sections.get(file.change)


def _comparison(ref: PullRequestRef) -> Endpoint:
    return Endpoint(
        project=ref.repository,
        path="/repository/compare",
        what=f"the comparison of the commits of {ref.repository}!{ref.number}",
    )


def _compare(
    client: GitLabClient, endpoint: Endpoint, start: str, end: str, *, straight: bool = False
) -> Fields | None:
    """Compare two commits, from their merge base unless `straight`; None if GitLab cannot.

    https://docs.gitlab.com/api/repositories/#compare-branches-tags-or-commits
    """
    commits = {"from": start, "to": end, "straight": "true" if straight else "false"}
    try:
        reply = client.ask(endpoint, params=commits)
    except FileTooLarge:
        return None
    if reply.status >= 300:
        _check_not_denied(reply, endpoint)
        return None
    return object_in(reply, endpoint)


def _check_not_denied(reply: Reply, endpoint: Endpoint) -> None:
    """Stop here if the next way would be denied as well."""
    if reply.status in {401, 403}:
        raise failure(reply, endpoint)


def _compare_files(
    client: GitLabClient, pull_request: PullRequest, files: Sequence[_Listed], max_compared_files: int
) -> tuple[MissingFile, ...]:
    """Fetch both versions of files and compare them here; give those for which that is not possible either."""
    missing = []
    for file in files[:max_compared_files]:
        section = compare_versions(
            file.change,
            lambda path, sha, max_bytes: fetch_file(
                client, pull_request.ref.repository, path, sha, max_bytes=max_bytes
            ),
            base_sha=pull_request.base_sha,
            head_sha=pull_request.head_sha,
            forge="GitLab",
        )
        if isinstance(section, MissingFile):
            missing.append(section)
        else:
            file.section = section
    reason = "one of too many files that GitLab sends no diff of"
    missing += [MissingFile(path=file.change.new_path, reason=reason) for file in files[max_compared_files:]]
    return tuple(missing)
