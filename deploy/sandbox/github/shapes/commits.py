"""JSON of commits, trees, files and comparisons."""

import base64

from deploy.sandbox.git import Commit, TreeEntry
from deploy.sandbox.github.shapes.accounts import Json, node_id, timestamp, user_json
from deploy.sandbox.github.state import Repository, State

_KINDS = {"120000": "symlink", "160000": "submodule", "040000": "dir"}


def commit_json(state: State, repository: Repository, commit: Commit) -> Json:
    """Shape a commit (schema commit)."""
    repo_url, html_url = (
        f"{state.api_url}/repos/{repository.full_name}",
        f"{state.url}/{repository.full_name}",
    )
    person = {"name": commit.author, "email": commit.email, "date": timestamp(commit.date)}
    account = state.users.get(commit.author.lower())
    shaped_account = user_json(state, account) if account else None
    return {
        "sha": commit.sha,
        "node_id": node_id("Commit", int(commit.sha[:8], 16)),
        "url": f"{repo_url}/commits/{commit.sha}",
        "html_url": f"{html_url}/commit/{commit.sha}",
        "comments_url": f"{repo_url}/commits/{commit.sha}/comments",
        "commit": {
            "url": f"{repo_url}/git/commits/{commit.sha}",
            "author": person,
            "committer": person,
            "message": commit.message,
            "comment_count": 0,
            "tree": {"sha": commit.tree, "url": f"{repo_url}/git/trees/{commit.tree}"},
            "verification": {
                "verified": False,
                "reason": "unsigned",
                "payload": None,
                "signature": None,
                "verified_at": None,
            },
        },
        "author": shaped_account,
        "committer": shaped_account,
        "parents": [
            {"sha": sha, "url": f"{repo_url}/commits/{sha}", "html_url": f"{html_url}/commit/{sha}"}
            for sha in commit.parents
        ],
    }


def comparison_json(
    state: State,
    repository: Repository,
    basehead: str,
    *,
    base: str,
    fork_point: str,
    ahead: list[Commit],
    behind: int,
) -> Json:
    """Shape a comparison (schema commit-comparison), without its files and their counts."""
    url = f"{state.api_url}/repos/{repository.full_name}/compare/{basehead}"
    html_url = f"{state.url}/{repository.full_name}/compare/{basehead}"
    git = repository.git
    status = {(True, True): "diverged", (True, False): "ahead", (False, True): "behind"}
    return {
        "url": url,
        "html_url": html_url,
        "permalink_url": html_url,
        "diff_url": f"{html_url}.diff",
        "patch_url": f"{html_url}.patch",
        "base_commit": commit_json(state, repository, git.commit_at(base)),
        "merge_base_commit": commit_json(state, repository, git.commit_at(fork_point)),
        "status": status.get((bool(ahead), bool(behind)), "identical"),
        "behind_by": behind,
        "commits": [commit_json(state, repository, commit) for commit in ahead],
    }


def entry_json(state: State, repository: Repository, revision: str, entry: TreeEntry) -> Json:
    """Shape a file, directory, symlink or submodule, without content (schema content-directory)."""
    repo_url, html_url = (
        f"{state.api_url}/repos/{repository.full_name}",
        f"{state.url}/{repository.full_name}",
    )
    kind = _KINDS.get(entry.mode, "file")
    url = f"{repo_url}/contents/{entry.path}?ref={revision}"
    git_kind, page = ("trees", "tree") if kind in ("dir", "submodule") else ("blobs", "blob")
    git_url, page_url = f"{repo_url}/git/{git_kind}/{entry.sha}", f"{html_url}/{page}/{revision}/{entry.path}"
    download = f"{html_url}/raw/{revision}/{entry.path}" if kind in ("file", "symlink") else None
    return {
        "name": entry.path.rpartition("/")[2],
        "path": entry.path,
        "sha": entry.sha,
        "size": entry.size or 0,
        "url": url,
        "html_url": page_url,
        "git_url": git_url,
        "download_url": download,
        "type": kind,
        "_links": {"self": url, "git": git_url, "html": page_url},
    }


def file_content_json(shaped: Json, content: bytes) -> Json:
    """Add a file's content (schema content-file); between 1 and 100 MB GitHub leaves it empty."""
    if len(content) > 1_000_000:
        return shaped | {"content": "", "encoding": "none"}
    return shaped | {"content": base64.encodebytes(content).decode(), "encoding": "base64"}
