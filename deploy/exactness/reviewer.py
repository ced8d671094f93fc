"""Stands in for the model: it sees the prompts alone, and remarks on random lines of them."""

import json
import re
import threading
from collections.abc import Sequence
from random import Random

from bot.findings import Category, Severity
from bot.llm.base import Answer, EngineInfo, Question
from deploy.exactness.prompt import Row, read_rows
from deploy.exactness.remarks import Remark, write_remark

_REMARK = re.compile(r"\bRemark ([0-9]+):")


class RandomReviewer:
    """Implement `bot.llm.base.Llm`; `remarks` are all that were made, by the number in their message."""

    def __init__(self, source: Random, *, most_remarks: int = 8) -> None:
        self.remarks: dict[int, Remark] = {}
        self._source = source
        self._most_remarks = most_remarks

    def describe(self, deadline: float, cancelled: threading.Event | None = None) -> EngineInfo:
        """Say nothing of the context, so that the options decide how long a chunk is."""
        return EngineInfo(model="random", context_tokens=None)

    def ask(self, question: Question) -> Answer:
        """Remark on some lines of the chunk in the prompt."""
        rows = read_rows(question.messages[1].content)
        count = self._source.randint(min(2, self._most_remarks), self._most_remarks)
        items = [self._remark(rows) for _ in range(count)] if rows else []
        return Answer(
            text=json.dumps({"findings": items}),
            finish_reason="stop",
            model="random",
            prompt_tokens=0,
            cached_tokens=0,
            completion_tokens=0,
            ttft_ms=0.0,
            total_ms=0.0,
            tokens_per_s=None,
            attempts=1,
            constrained=False,
        )

    def _remark(self, rows: Sequence[Row]) -> dict[str, str]:
        number = len(self.remarks) + 1
        remark, fields = write_remark(self._source, rows, number)
        self.remarks[number] = remark
        return {
            "message": f"Remark {number}: the value is read before it is set. It is wrong.",
            "severity": self._source.choice(list(Severity)).value,
            "category": self._source.choice(list(Category)).value,
            **fields,
        }


def number_of(body: str) -> int | None:
    """Find which remark a comment carries."""
    found = _REMARK.search(body)
    return int(found[1]) if found else None
