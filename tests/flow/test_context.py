"""Lines around the hunks, so that the model can judge what it reads."""

import re

import pytest

from tests.llm_server import ChatRequest
from tests.world import World, finding

MIDDLE = "".join(f"        step_{number}()\n" for number in range(30))
SHOP = f"import os\n\n\nclass Shop:\n    def order(self, user):\n{MIDDLE}        return user\n\n\nTAIL = 1\n"
CHANGED = SHOP.replace("step_25()", "step_25(user)")


def context_of(request: ChatRequest) -> list[str]:
    """The lines without an id."""
    return re.findall(r"^\| (.*)$", request.prompt, re.MULTILINE)


def file_requests(world: World, head_sha: str) -> list[str]:
    """Which files of the head were asked for."""
    paths = [one.path for one in world.sandbox.requests if head_sha in str(one.query)]
    return [path for path in paths if "/contents/" in path or path.endswith("/raw")]


def test_the_enclosing_headers_and_some_lines_beside_the_hunk_are_shown(world: World) -> None:
    world.commit("main", {"shop.py": SHOP})
    world.open_pull_request({"shop.py": CHANGED})
    world.run()

    shown = context_of(world.llm.requests[0])
    assert shown[:3] == ["class Shop:", "    def order(self, user):", "..."]
    assert shown[3:] == [
        *(f"        step_{number}()" for number in range(12, 22)),
        *("        step_29()", "        return user", "", "", "TAIL = 1"),
    ]


def test_lines_beside_the_hunk_cannot_be_named(world: World) -> None:
    world.commit("main", {"shop.py": SHOP})
    world.llm.will_say(
        [
            finding(line="1R37", quote="return user", message="The user leaks."),
            finding(line="| TAIL = 1", quote="TAIL = 1", message="The tail is wrong."),
            finding(line="1R31", quote="step_25(user)", message="The user is not known."),
        ]
    )
    pull = world.open_pull_request({"shop.py": CHANGED})
    world.run()

    schema = world.llm.requests[0].body["response_format"]["json_schema"]["schema"]
    line = schema["properties"]["findings"]["items"]["properties"]["line"]
    assert line["enum"] == ["1L31 -        step_25()", "1R31 +        step_25(user)"]
    assert pull.inline == ["shop.py:31 RIGHT"]
    assert "The user leaks." in pull.summary


def test_new_and_deleted_files_need_no_request(world: World) -> None:
    world.commit("main", {"old.py": "OLD = 1\n", "shop.py": SHOP})
    pull = world.open_pull_request({"old.py": None, "new.py": "NEW = 1\n"})
    world.run()

    assert file_requests(world, pull.state.head_sha) == []
    assert context_of(world.llm.requests[0]) == []


@pytest.mark.parametrize("fault", [{"status": 404, "body": {}}, {"status": 503, "times": 9}])
def test_a_file_that_cannot_be_had_costs_only_its_context(world: World, fault: dict[str, object]) -> None:
    world.commit("main", {"shop.py": SHOP})
    world.llm.will_say([finding(line="1R31", quote="step_25(user)", message="The user is not known.")])
    world.sandbox.fail("GET", r"shop\.py", **fault)
    pull = world.open_pull_request({"shop.py": CHANGED})
    world.run()

    assert context_of(world.llm.requests[0]) == []
    assert pull.inline == ["shop.py:31 RIGHT"]
    assert pull.summary.startswith("**1 finding (1 high) in 1 of 1 file**")


def test_no_more_than_so_many_files_are_asked_for(world: World) -> None:
    before = {f"m{number:02}.py": f"A = 1\nB = 1\nV = {number}\n" for number in range(25)}
    world.commit("main", before)
    pull = world.open_pull_request({path: text.replace("V = ", "V = 1") for path, text in before.items()})
    world.run()

    assert len(file_requests(world, pull.state.head_sha)) == 20


def test_credentials_beside_a_hunk_do_not_reach_the_model(world: World) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    shop = SHOP.replace("step_18()", f'step_18("{key}")')
    world.commit("main", {"shop.py": shop})
    world.open_pull_request({"shop.py": shop.replace("step_25()", "step_25(user)")})
    world.run()

    assert key not in world.llm.requests[0].prompt
    assert '        step_18("[secret removed]")' in context_of(world.llm.requests[0])


def test_context_is_the_first_thing_to_go_when_the_engine_has_no_room(world: World) -> None:
    """Case G4: the estimate was too low, and the same lines fit without what is around them."""
    world.llm.max_model_len = 3200
    dense = f"{'a+' * 70}a\n" * 20
    before = dense + "one\ntwo\nthree\nfour\nfive\nsix\nseven\n" + dense
    world.commit("main", {"dense.py": before})
    world.open_pull_request({"dense.py": before.replace("four", "changed(four)")})
    world.run()

    refused, *answered = world.llm.requests
    assert refused.status == 400
    assert context_of(refused) != []
    assert len(answered) == 1
    assert context_of(answered[0]) == []
    assert "+changed(four)" in answered[0].prompt
