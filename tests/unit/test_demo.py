"""The demo ends with a sentence when what it waits for cannot come, and never spoils another one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from deploy.demo.__main__ import watch
from deploy.demo.forge import FORGES, start_forge
from deploy.demo.processes import Engine, ProcessError, check_alive, the_only_demo
from deploy.demo.stage import stage_shop


@contextmanager
def python(code: str) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("forge_name", FORGES)
@pytest.mark.parametrize(
    ("engine_code", "redline_code", "words"),
    [
        ("", "import time; time.sleep(60)", "engine ended by itself"),
        ("import time; time.sleep(60)", "", "Redline ended by itself"),
    ],
)
def test_a_program_that_dies_ends_the_wait_for_the_review(
    tmp_path: Path, forge_name: str, engine_code: str, redline_code: str, words: str
) -> None:
    forge = start_forge(forge_name, tmp_path / "git", "http://127.0.0.1:9", 0)
    shop = stage_shop(forge.sandbox)
    number = forge.sandbox.open_pull_request(shop.repository, head=shop.head, base=shop.base)
    started = time.monotonic()
    with python(engine_code) as engine, python(redline_code) as redline:
        served = Engine(base_url="http://127.0.0.1:9/v1", is_small=True, process=engine)
        check = partial(check_alive, served, redline, tmp_path)
        with pytest.raises(ProcessError, match=words):
            watch(Console(), forge, shop.repository, number, check)
    assert time.monotonic() - started < 20
    forge.sandbox.stop()


def test_a_second_demo_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    lock = tmp_path / "demo.lock"
    with the_only_demo(lock), pytest.raises(ProcessError, match="running"), the_only_demo(lock):
        pass
    with the_only_demo(lock):
        pass
