"""`redline up` as a real process tree, beside a sandbox forge and a model server."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.hosts import make_host
from tests.llm_server import LlmServer
from tests.world import ADMIN_TOKEN

START_TIMEOUT_S = 40
_STARTED = re.compile(r"(\S+)\s+started \(pid=(\d+)\)")


class Stack:
    """Start everything that `redline up` runs, and stop it by its own process ids."""

    def __init__(self, folder: Path, forge: str = "github", **settings: str) -> None:
        self.folder = folder
        self.port = _free_port()
        self.host = make_host(forge, folder)
        self.forge = self.host.sandbox
        self.forge.webhook_url = f"http://127.0.0.1:{self.port}/webhooks/{self.host.name}"
        self.spec = self.host.new_spec()
        if self.spec:
            self.forge.observers.append(self.spec.check)
        self.llm = LlmServer().start()
        self.log = folder / "up.log"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("REDLINE_")},
            "REDLINE_DATA_DIR": str(folder / "data"),
            "REDLINE_WEB_PORT": str(self.port),
            **{f"REDLINE_{name.upper()}": str(value) for name, value in self.host.settings().items()},
            "REDLINE_ADMIN_TOKEN": ADMIN_TOKEN,
            "REDLINE_LLM_BASE_URL": self.llm.base_url,
            "REDLINE_LEASE_S": "3",
            "REDLINE_SWEEP_INTERVAL_S": "0.5",
            **settings,
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.forge.create_repository(self.host.repository, {"app.py": "import os\n"})

    def start(self) -> None:
        """Start `redline up` and wait until it takes webhooks."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(Path(sys.executable).with_name("redline")), "up"],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait_for(
            lambda: self.answers() and len(self.pids()) == 4, "redline up to answer", START_TIMEOUT_S
        )

    def stop(self) -> int:
        """End it as Ctrl-C or a service manager would, and give the exit code."""
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def close(self) -> None:
        if self.process and self.process.poll() is None:
            self.stop()
        self.forge.stop()
        self.llm.stop()
        assert self.spec is None or not self.spec.violations, self.spec.violations

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def pids(self) -> dict[str, int]:
        """Give the process ids of the Procfile's lines."""
        return {name: int(pid) for name, pid in _STARTED.findall(self.log.read_text(errors="replace"))}

    def kill(self, name: str) -> None:
        """Kill one process of the Procfile without a chance to clean up."""
        os.kill(self.pids()[name], signal.SIGKILL)

    def open_pull_request(self, files: dict[str, str | bytes | None], branch: str = "feature") -> int:
        self.forge.commit(self.host.repository, branch, files, start="main", message="Change")
        return int(
            self.forge.open_pull_request(self.host.repository, head=branch, base="main", title="Change")
        )

    def wait_for(self, condition: Callable[[], object], what: str, timeout_s: float = 30) -> None:
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            if condition():
                return
            if self.process and self.process.poll() is not None:
                break
            time.sleep(0.05)
        tail = self.log.read_text(errors="replace")[-6000:] if self.log.exists() else ""
        raise AssertionError(f"waited {timeout_s} s for {what}; the log ends:\n{tail}")

    def has_ended(self, number: int) -> bool:
        pull = self.pull(number)
        marks = [state for sha, _name, state, _text in pull.statuses if sha == pull.head_sha]
        return bool(marks) and marks[-1] not in ("pending", "running")

    def pull(self, number: int) -> Any:
        """Take a picture of a pull request."""
        return self.forge.pull(self.host.repository, number)

    def wait_for_end(self, number: int, timeout_s: float = 30) -> None:
        """Wait until the mark on the pull request's head has ended."""
        self.wait_for(
            lambda: self.has_ended(number),
            f"the review of #{number}",
            timeout_s,
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
