"""The table of cases says what the tests say, and every case that has to have a test has one."""

import re
from pathlib import Path

import pytest

from deploy.setup.cases_table import CASES, GROUPS, PAGE, REQUIRED_GROUPS, ROOT, find_tests, render_page

COLLECTED = ROOT / "../shared/cases.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == render_page(), "write it anew: python deploy/setup/cases_table.py"


@pytest.mark.parametrize("number", [number for number in CASES if number[0] in REQUIRED_GROUPS])
def test_every_case_has_a_test(number: str) -> None:
    assert find_tests()[number], f"{number}: {CASES[number]}"


def test_every_case_has_a_group_and_words_of_its_own() -> None:
    assert {number[0] for number in CASES} == set(GROUPS)
    assert len(set(CASES.values())) == len(CASES)
    assert not [what for what in CASES.values() if "|" in what or what.endswith(".")]


@pytest.mark.skipif(not COLLECTED.is_file(), reason="the collected cases of ../shared are not there")
def test_no_case_is_forgotten() -> None:
    listed = re.findall(r"^\| ([A-M][0-9]+) \|", Path(COLLECTED).read_text(), re.MULTILINE)
    assert list(CASES) == listed
