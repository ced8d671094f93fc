"""Our own share of a review: from the webhook's answer to the engine, and from its last token to the comments."""

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from deploy.sandbox.recording import RecordedRequest
from tests.system.stack import Stack
from tests.world import UNSAFE_APP, finding


@dataclass(frozen=True, slots=True, kw_only=True)
class OverheadMeasurement:
    """Times of each review in milliseconds."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def p50(self) -> float:
        """Give the median of both together."""
        return statistics.median(a + b for a, b in zip(self.before, self.after, strict=True))


def measure_overhead(reviews: int = 20) -> OverheadMeasurement:
    """Review pull requests one after the other on a running `redline up`, with a model that answers at once."""
    before: list[float] = []
    after: list[float] = []
    posted: list[float] = []

    def note_posted(request: RecordedRequest) -> None:
        if request.method == "POST" and request.path.endswith("/reviews"):
            posted.append(time.monotonic())

    with tempfile.TemporaryDirectory(prefix="redline-bench-") as folder:
        stack = Stack(Path(folder))
        stack.llm.answer_with(lambda _request: [finding()])
        stack.forge.observers.append(note_posted)
        try:
            stack.start()
            for number in range(reviews + 2):
                count = len(posted)
                pull = stack.open_pull_request(
                    {"app.py": UNSAFE_APP + f"X = {number}\n"}, f"feature-{number}"
                )
                stack.wait_for_end(pull)
                delivery = next(each for each in stack.forge.deliveries if each.payload.get("number") == pull)
                request = stack.llm.requests[-1]
                if number >= 2:  # the first ones open connections and load modules
                    before.append((request.arrived_at - delivery.answered_at) * 1000)
                    after.append((posted[count] - request.ended_at) * 1000)
        finally:
            stack.close()
    return OverheadMeasurement(before=tuple(before), after=tuple(after))
