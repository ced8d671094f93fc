"""The receiver under load: requests per second and latency, beside a view that only checks the signature."""

import hashlib
import hmac
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.embedded import embedded_broker
from bot.settings import Settings
from deploy.bench.load import Load, combine, prepare_request, run_load
from deploy.sandbox.github import GitHubSandbox

SECRET = "bench-secret"
BODY_BYTES = 20_000
CONNECTIONS = 16
RATE = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverMeasurement:
    """The three runs: both receivers as fast as they go, and ours at a fixed rate."""

    bare: Load
    ours: Load
    at_rate: Load

    @property
    def ratio(self) -> float:
        """Give our requests per second per one of the bare view's."""
        return self.ours.requests_per_s / self.bare.requests_per_s


def measure_receiver(rounds: int = 8, requests: int = 500, rate_seconds: float = 10.0) -> ReceiverMeasurement:
    """Measure with real gunicorn, a real database and a real broker; every delivery is another pull request.

    The two receivers take turns, round by round, so that a machine that slows down favours neither.
    """
    template = _payload()
    bare: list[Load] = []
    ours: list[Load] = []
    with (
        tempfile.TemporaryDirectory(prefix="redline-bench-") as folder,
        _bare_server() as bare_address,
        _our_server(Path(folder)) as our_address,
    ):
        for address in (bare_address, our_address):
            run_load(address, _deliveries(template, 200, "warm"), connections=CONNECTIONS)
        for number in range(rounds):
            for address, loads in ((bare_address, bare), (our_address, ours)):
                deliveries = _deliveries(template, requests, f"round-{number}")
                loads.append(run_load(address, deliveries, connections=CONNECTIONS))
        paced = _deliveries(template, int(RATE * rate_seconds), "rate")
        at_rate = run_load(our_address, paced, connections=CONNECTIONS, rate=RATE)
    return ReceiverMeasurement(bare=combine(bare), ours=combine(ours), at_rate=at_rate)


def _payload() -> dict[str, Any]:
    """Take a real payload from the sandbox, so that it has all the fields that GitHub sends."""
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as folder:
        sandbox = GitHubSandbox(root=Path(folder), webhook_url="http://127.0.0.1:9/", webhook_secret=SECRET)
        sandbox.start()
        try:
            sandbox.create_repository("acme/shop", {"a.py": "x = 1\n"})
            sandbox.commit("acme/shop", "feature", {"a.py": "x = 2\n"}, start="main", message="Change")
            sandbox.open_pull_request("acme/shop", head="feature", base="main", title="Change")
            sandbox.wait_for_webhooks()
            payload: dict[str, Any] = json.loads(sandbox.deliveries[-1].body)
        finally:
            sandbox.stop()
    return payload


def _deliveries(template: dict[str, Any], count: int, label: str) -> list[bytes]:
    requests = []
    for number in range(count):
        pull = {**template["pull_request"], "number": number + 1, "body": ""}
        pull["head"] = {**pull["head"], "sha": hashlib.sha1(f"{label}{number}".encode()).hexdigest()}  # noqa: S324 - the form of a commit id
        payload = {**template, "number": number + 1, "pull_request": pull}
        pull["body"] = "x" * max(0, BODY_BYTES - len(json.dumps(payload)))
        body = json.dumps(payload).encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "pull_request",
            "X-GitHub-Delivery": f"{label}-{number}",
            "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest(),
        }
        requests.append(prepare_request("/webhooks/github", headers, body))
    return requests


@contextmanager
def _bare_server() -> Iterator[str]:
    port = _free_port()
    arguments = [
        "--bind",
        f"127.0.0.1:{port}",
        "--workers",
        "2",
        "--threads",
        "8",
        "--worker-class",
        "gthread",
    ]
    arguments += ["--keep-alive", "5", "--log-level", "error", "deploy.bench.baseline:app"]
    with _gunicorn(port, arguments, {"BENCH_SECRET": SECRET}) as address:
        yield address


@contextmanager
def _our_server(folder: Path) -> Iterator[str]:
    port = _free_port()
    settings = Settings(data_dir=folder)
    environment = {
        "REDLINE_DATA_DIR": str(folder),
        "REDLINE_WEB_PORT": str(port),
        "REDLINE_GITHUB_WEBHOOK_SECRET": SECRET,
        "REDLINE_DATABASE_URL": os.environ.get("REDLINE_DATABASE_URL", ""),
        "REDLINE_LOG_FORMAT": "json",
    }
    redline = str(Path(sys.executable).with_name("redline"))
    subprocess.run([redline, "migrate"], env={**os.environ, **environment}, check=True, capture_output=True)
    arguments = ["-c", "python:bot.web.gunicorn_config", "bot.web.wsgi:app"]
    with embedded_broker(settings), _gunicorn(port, arguments, environment) as address:
        yield address


@contextmanager
def _gunicorn(port: int, arguments: list[str], environment: dict[str, str]) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        time.sleep(1.0)  # both worker processes, not only the first, should have started
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("gunicorn did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
