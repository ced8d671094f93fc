"""The two programs that the demo runs beside the sandbox: the engine and `redline up`."""

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_START_LIMIT_S = 120.0


class ProcessError(Exception):
    """A program did not start or ended by itself; the text says which and where its log is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Where the engine is, whether it is the small one that only shows how things work, and our process of it."""

    base_url: str
    is_small: bool
    process: "subprocess.Popen[bytes] | None" = None


@contextmanager
def the_only_demo(lock: Path) -> Iterator[None]:
    """Hold the lock during the block: a second demo would delete this one's files; raises ProcessError."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        try:
            # Let go by the kernel when this process ends, however that happens.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ProcessError(
                "A demo is running in this checkout already: end it with Ctrl-C first."
            ) from None
        yield


@contextmanager
def engine(folder: Path) -> Iterator[Engine]:
    """Use the engine at REDLINE_LLM_BASE_URL, or install and start one; its own program shows the progress."""
    given = os.environ.get("REDLINE_LLM_BASE_URL")
    if given:
        yield Engine(base_url=given, is_small=False)
        return
    ready = folder / "engine.json"
    ready.unlink(missing_ok=True)
    command = [sys.executable, str(ROOT / "deploy/vllm/engine.py"), "serve", "--port", str(free_port())]
    process = subprocess.Popen([*command, "--ready-file", str(ready)], stdin=subprocess.DEVNULL)
    try:
        while not ready.exists():
            if process.poll() is not None:
                raise ProcessError("The engine did not start; what it said stands above.")
            time.sleep(0.2)
        base_url = json.loads(ready.read_text())["base_url"]
        yield Engine(base_url=base_url, is_small=not os.environ.get("MODEL"), process=process)
    finally:
        _stop(process)


@contextmanager
def redline(folder: Path, settings: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `redline up` with exactly these settings; its output goes to redline.log in the folder."""
    log = folder / "redline.log"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("REDLINE_")}
    kept = {name: value for name, value in os.environ.items() if name.startswith("REDLINE_LLM_")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("redline")), "up"],
            env={**inherited, **kept, **settings},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A session of its own: Ctrl-C reaches the demo, which then stops it in good order.
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, f"http://127.0.0.1:{settings['REDLINE_WEB_PORT']}/readyz", log)
        yield process
    finally:
        _stop(process)


def check_alive(served: Engine, process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Raise ProcessError if the engine, unless it is somebody else's, or Redline has ended by itself."""
    if served.process is not None and served.process.poll() is not None:
        raise ProcessError("The engine ended by itself; what it said stands above.")
    if process.poll() is not None:
        raise ProcessError(f"Redline ended by itself; its log is {folder / 'redline.log'}")


def free_port(preferred: int = 0) -> int:
    """Give the preferred port if it is free, else any that is."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise ProcessError("No port is free on 127.0.0.1.")


def _wait_until_ready(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    until = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise ProcessError(
        f"Redline did not start. Its log, {log}, ends:\n{log.read_text(errors='replace')[-2000:]}"
    )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
