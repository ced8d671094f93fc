"""JSON of reviews, review comments and changed files."""

from deploy.sandbox.diffs import FileDiff
from deploy.sandbox.github.outdated import Standing
from deploy.sandbox.github.shapes.accounts import Json, author_association, node_id, timestamp, user_json
from deploy.sandbox.github.shapes.pulls import reactions_json
from deploy.sandbox.github.state import Pull, Repository, Review, ReviewComment, State


def review_json(state: State, repository: Repository, pull: Pull, review: Review) -> Json:
    """Shape a review (schema pull-request-review)."""
    pull_url = f"{state.api_url}/repos/{repository.full_name}/pulls/{pull.number}"
    html_url = f"{state.url}/{repository.full_name}/pull/{pull.number}#pullrequestreview-{review.id}"
    shaped: Json = {
        "id": review.id,
        "node_id": node_id("PullRequestReview", review.id),
        "user": user_json(state, review.user),
        "body": review.body,
        "state": review.state,
        "html_url": html_url,
        "pull_request_url": pull_url,
        "author_association": author_association(review.user, repository),
        "_links": {"html": {"href": html_url}, "pull_request": {"href": pull_url}},
        "commit_id": review.commit_id,
    }
    if review.submitted_at:
        shaped["submitted_at"] = timestamp(review.submitted_at)
    return shaped


def review_comment_json(
    state: State, repository: Repository, pull: Pull, comment: ReviewComment, standing: Standing
) -> Json:
    """Shape a comment on a line (schema pull-request-review-comment), at its place in today's diff."""
    repo_url = f"{state.api_url}/repos/{repository.full_name}"
    url, pull_url = f"{repo_url}/pulls/comments/{comment.id}", f"{repo_url}/pulls/{pull.number}"
    html_url = f"{state.url}/{repository.full_name}/pull/{pull.number}#discussion_r{comment.id}"
    shaped: Json = {
        "url": url,
        "pull_request_review_id": comment.review_id,
        "id": comment.id,
        "node_id": node_id("PullRequestReviewComment", comment.id),
        "diff_hunk": comment.diff_hunk,
        "path": comment.path,
        "position": standing.position,
        "original_position": comment.position,
        "commit_id": standing.commit_id,
        "original_commit_id": comment.original_commit_id,
        "user": user_json(state, comment.user),
        "body": comment.body,
        "created_at": timestamp(comment.created_at),
        "updated_at": timestamp(comment.updated_at),
        "html_url": html_url,
        "pull_request_url": pull_url,
        "author_association": author_association(comment.user, repository),
        "_links": {
            "self": {"href": url},
            "html": {"href": html_url},
            "pull_request": {"href": pull_url},
        },
        "start_line": standing.start_line,
        "original_start_line": comment.start_line,
        "start_side": comment.start_side,
        "line": standing.line,
        "original_line": comment.line,
        "side": comment.side,
        "subject_type": comment.subject_type,
        "reactions": reactions_json(f"{url}/reactions", comment.reactions),
    }
    if comment.in_reply_to_id is not None:
        shaped["in_reply_to_id"] = comment.in_reply_to_id
    return shaped


def file_json(state: State, repository: Repository, head: str, file: FileDiff, *, with_patch: bool) -> Json:
    """Shape a changed file (schema diff-entry)."""
    repo_url, html_url = (
        f"{state.api_url}/repos/{repository.full_name}",
        f"{state.url}/{repository.full_name}",
    )
    shaped: Json = {
        "sha": file.old_sha if file.status == "removed" else file.new_sha,
        "filename": file.path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": f"{html_url}/blob/{head}/{file.path}",
        "raw_url": f"{html_url}/raw/{head}/{file.path}",
        "contents_url": f"{repo_url}/contents/{file.path}?ref={head}",
    }
    if with_patch and file.patch:
        shaped["patch"] = file.patch.decode(errors="replace")
    if file.status in ("renamed", "copied"):
        shaped["previous_filename"] = file.old_path
    return shaped
