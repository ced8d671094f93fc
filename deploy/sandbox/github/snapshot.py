"""A picture of a pull request for tests to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

from deploy.sandbox.forge import ConversationComment, InlineComment, PostedReview, PullState
from deploy.sandbox.github.outdated import find_standing
from deploy.sandbox.github.state import CheckRun, Comment, Pull, Repository, ReviewComment


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubInlineComment(InlineComment):
    """A comment on a line, and the review that it is part of."""

    review_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubPullState(PullState):
    """Everything about a pull request."""

    comments: tuple[GitHubInlineComment, ...]
    check_runs: tuple[CheckRun, ...]


def snapshot(repository: Repository, pull: Pull) -> GitHubPullState:
    """Copy what there is to know of a pull request; statuses and check runs are those of all its commits."""
    heads = set(pull.known_heads)
    return GitHubPullState(
        title=pull.title,
        state=pull.state,
        draft=pull.draft,
        head_sha=pull.head_sha,
        base_sha=pull.base_sha,
        comments=tuple(
            GitHubInlineComment(
                id=one.id,
                review_id=one.review_id,
                path=one.path,
                subject_type=one.subject_type,
                line=one.line,
                side=one.side,
                start_line=one.start_line,
                start_side=one.start_side,
                body=one.body,
                commit_id=one.original_commit_id,
                user=one.user.login,
                diff_hunk=one.diff_hunk,
                in_reply_to_id=one.in_reply_to_id,
                is_outdated=find_standing(repository, pull, one).is_outdated,
            )
            for one in pull.review_comments
        ),
        reviews=tuple(
            PostedReview(
                id=one.id, body=one.body, state=one.state, commit_id=one.commit_id, user=one.user.login
            )
            for one in pull.reviews
        ),
        conversation=tuple(
            ConversationComment(id=one.id, body=one.body, user=one.user.login) for one in pull.comments
        ),
        reactions=_reactions(pull.comments) | _reactions(pull.review_comments),
        statuses=tuple(
            (one.sha, one.context, one.state, one.description or "")
            for one in repository.statuses
            if one.sha in heads
        ),
        check_runs=tuple(run for run in repository.check_runs.values() if run.head_sha in heads),
    )


def _reactions(comments: Sequence[Comment | ReviewComment]) -> dict[int, list[tuple[str, str]]]:
    return {
        one.id: [(reaction.user.login, reaction.content) for reaction in one.reactions]
        for one in comments
        if one.reactions
    }
