"""A local GitLab for tests and demos: real rules, real git, no network."""

from deploy.sandbox.gitlab.options import DiffLimits, Options
from deploy.sandbox.gitlab.sandbox import GitLabSandbox
from deploy.sandbox.gitlab.snapshot import GitLabPullState as PullState
from deploy.sandbox.outbox import Delivery
from deploy.sandbox.recording import RecordedRequest

__all__ = ["Delivery", "DiffLimits", "GitLabSandbox", "Options", "PullState", "RecordedRequest"]
