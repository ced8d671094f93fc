"""A local GitHub for tests and demos: real rules, real git, no network."""

from deploy.sandbox.github.sandbox import GitHubSandbox
from deploy.sandbox.github.snapshot import GitHubPullState as PullState
from deploy.sandbox.outbox import Delivery
from deploy.sandbox.recording import RecordedRequest

__all__ = ["Delivery", "GitHubSandbox", "PullState", "RecordedRequest"]
