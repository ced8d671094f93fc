"""A second review reads what is new since the first, told by the ancestry of commits (case L1)."""

import subprocess
from collections.abc import Callable

import pytest

from bot.db.tables import ReviewState
from tests.llm_server import ChatRequest
from tests.world import PullRequestHandle, World, finding

# Long enough that a change at its end is far from one at its beginning.
MIDDLE = "".join(f"ITEM_{number} = {number}\n" for number in range(30))
BEFORE = f"HEAD = 1\n{MIDDLE}TAIL = 1\n"
FIRST = f"HEAD = first()\n{MIDDLE}TAIL = 1\n"
SECOND = f"HEAD = first()\n{MIDDLE}TAIL = second()\n"
FIRST_LINE = "1R1 +HEAD = first()"
SECOND_LINE = "1R32 +TAIL = second()"


def open_first(world: World, **others: str) -> PullRequestHandle:
    """Open a pull request that changes the beginning of a long file, and review it."""
    world.commit("main", {"shop.py": BEFORE})
    pull = world.open_pull_request({"shop.py": FIRST, **others})
    world.run()
    return pull


def git(world: World, *arguments: str) -> str:
    """Run git in the sandbox's repository."""
    people = {"GIT_AUTHOR_NAME": "ada", "GIT_AUTHOR_EMAIL": "ada@sandbox.invalid"}
    people |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in people.items()}
    folder = world.sandbox.git_path(world.repository)
    done = subprocess.run(["git", *arguments], cwd=folder, env=people, capture_output=True, check=True)
    return done.stdout.decode().strip()


def merge_main(world: World, pull: PullRequestHandle, *, undo: bool = False) -> str:
    """Merge main into the pull request's branch; with `undo` so that nothing of it is left."""
    branch = f"feature-{world.branch_of(pull.number)}"
    tree = git(world, "rev-parse", f"{branch}^{{tree}}")
    if not undo:
        tree = git(world, "merge-tree", "--write-tree", branch, "main")
    sha = git(world, "commit-tree", tree, "-p", branch, "-p", "main", "-m", "Merge main")
    world.sandbox.force_push(world.repository, branch, sha)
    return sha


def seen(world: World, since: int) -> str:
    """What the model was asked from that request on."""
    return "\n".join(request.prompt for request in world.llm.requests[since:])


def nameable(request: ChatRequest) -> list[str]:
    """The lines that a finding can name."""
    schema = request.body["response_format"]["json_schema"]["schema"]
    lines: list[str] = schema["properties"]["findings"]["items"]["properties"]["line"]["enum"]
    return lines


def test_a_push_is_read_from_the_last_reviewed_head_on(world: World) -> None:
    """Case L1."""
    world.llm.will_say([finding(line="1R1", quote="HEAD = first()", message="First is unsafe.")])
    pull = open_first(world)
    first = pull.state.head_sha
    pull.push({"shop.py": SECOND})
    world.run()

    assert len(world.llm.requests) == 2
    assert nameable(world.llm.requests[1]) == ["1L32 -TAIL = 1", SECOND_LINE]
    assert "first()" not in seen(world, 1)
    assert pull.summary.startswith(
        f"**No new issues in what changed since {first[:7]}; 1 earlier finding stands**"
    )
    assert f"since {first[:7]} · " in pull.summary
    assert f"| `shop.py` | reviewed | what changed since {first[:7]} |" in pull.summary
    assert pull.status == ("success", f"No new issues in what changed since {first[:7]}")
    assert len(pull.state.comments) == 1


def test_a_finding_in_what_is_new_stands_on_its_line_of_the_whole_diff(world: World) -> None:
    pull = open_first(world)
    pull.push({"shop.py": SECOND})
    world.llm.will_say([finding(line="1R32", quote="TAIL = second()", message="Second is unsafe.")])
    world.run()

    assert pull.inline == ["shop.py:32 RIGHT"]
    assert pull.summary.startswith("**1 finding (1 high) in what changed since ")


def test_old_lines_beside_new_ones_are_shown_and_cannot_be_named(world: World) -> None:
    pull = open_first(world)
    pull.push({"shop.py": FIRST.replace("ITEM_1 = 1", "ITEM_1 = one()")})
    world.llm.will_say([finding(line="1R1", quote="HEAD = first()", message="First is unsafe.")])
    world.run()

    prompt = world.llm.requests[1].prompt
    assert "\n| HEAD = first()\n" in prompt
    assert "HEAD = 1" not in prompt
    assert nameable(world.llm.requests[1]) == ["1L3 -ITEM_1 = 1", "1R3 +ITEM_1 = one()"]
    assert pull.inline == []
    assert "Without a line:" in pull.summary


def test_a_finding_that_stands_already_is_not_listed_again_without_a_line(world: World) -> None:
    """The model names a line that it was not to read, and of which it has spoken before."""
    about_first = finding(line="1R1", quote="HEAD = first()", message="First is unsafe.")
    world.llm.answer_with(lambda _request: [about_first])
    pull = open_first(world)
    first = pull.state.head_sha
    pull.push({"shop.py": SECOND})
    world.run()

    assert pull.inline == ["shop.py:1 RIGHT"]
    assert pull.summary.startswith(
        f"**No new issues in what changed since {first[:7]}; 1 earlier finding stands**"
    )
    assert "Without a line" not in pull.summary


def test_files_that_were_read_before_are_named_as_such(world: World) -> None:
    pull = open_first(world, **{"other.py": "OTHER = 1\n"})
    first = pull.state.head_sha
    pull.push({"shop.py": SECOND, "new.py": "NEW = 1\n"})
    world.run()

    assert f"| `other.py` | read before | unchanged since {first[:7]} |" in pull.summary
    assert "OTHER" not in seen(world, 1)
    assert "+NEW = 1" in seen(world, 1)
    assert "1 other file read to the end." in pull.summary


def test_a_push_that_changes_nothing_of_the_diff_asks_nothing(world: World) -> None:
    pull = open_first(world)
    first = pull.state.head_sha
    pull.push({})
    world.run()

    assert len(world.llm.requests) == 1
    assert pull.summary.startswith(f"**Nothing new to review since {first[:7]}**")
    assert pull.review.state is ReviewState.DONE


def test_a_third_review_goes_on_from_the_second(world: World) -> None:
    pull = open_first(world)
    pull.push({"shop.py": SECOND})
    world.run()
    second = pull.state.head_sha
    pull.push({"third.py": "THIRD = 1\n"})
    world.run()

    assert "second()" not in seen(world, 2)
    assert "+THIRD = 1" in seen(world, 2)
    assert f"| `shop.py` | read before | unchanged since {second[:7]} |" in pull.summary


def amend(world: World, pull: PullRequestHandle) -> None:
    """Replace the only commit of the branch."""
    branch = f"feature-{world.branch_of(pull.number)}"
    world.commit("amended", {"shop.py": SECOND}, start="main")
    world.sandbox.force_push(world.repository, branch, "amended")


def rebase(world: World, pull: PullRequestHandle) -> None:
    """Put the branch, with a second change, on top of a newer main."""
    world.commit("main", {"elsewhere.py": "ELSEWHERE = 1\n"})
    amend(world, pull)


@pytest.mark.parametrize("change", [amend, rebase])
def test_a_head_that_is_no_ancestor_makes_the_review_a_full_one(
    world: World, change: Callable[[World, PullRequestHandle], None]
) -> None:
    """Case L1: whatever the dates of the commits say."""
    pull = open_first(world)
    change(world, pull)
    world.run()

    assert FIRST_LINE in seen(world, 1)
    assert SECOND_LINE in seen(world, 1)
    assert pull.summary.startswith("**No issues found in 1 of 1 file**")
    assert "since" not in pull.summary


def test_what_came_in_by_merging_the_target_branch_is_not_read(world: World) -> None:
    pull = open_first(world)
    first = pull.state.head_sha
    world.commit("main", {"shop.py": f"HEAD = 1\n{MIDDLE}TAIL = theirs()\n", "theirs.py": "THEIRS = 1\n"})
    merge_main(world, pull)
    world.run()

    assert len(world.llm.requests) == 1
    assert pull.summary.startswith(f"**Nothing new to review since {first[:7]}**")
    assert "theirs.py" not in pull.summary


def test_what_is_new_is_read_beside_a_merge_of_the_target_branch(world: World) -> None:
    pull = open_first(world)
    world.commit("main", {"shop.py": f"HEAD = 1\n{MIDDLE}TAIL = theirs()\n"})
    merge_main(world, pull)
    ours = MIDDLE.replace("ITEM_1 = 1\n", "ITEM_1 = 1\nOURS = ours()\n")
    pull.push({"shop.py": f"HEAD = first()\n{ours}TAIL = theirs()\n"})
    world.run()

    assert nameable(world.llm.requests[1]) == ["1R4 +OURS = ours()"]
    assert "theirs()" not in seen(world, 1)


def test_what_a_merge_undid_of_the_target_branch_is_read(world: World) -> None:
    """The two heads are the same there, but against the target branch it is a change that nobody has read."""
    world.commit("main", {"guard.py": "def enter(user):\n    return room(user)\n"})
    pull = open_first(world)
    world.commit(
        "main",
        {
            "guard.py": "def enter(user):\n    check(user)\n    return room(user)\n",
            "shop.py": f"HEAD = 1\n{MIDDLE}TAIL = checked()\n",
        },
    )
    merge_main(world, pull, undo=True)
    world.run()

    assert "-    check(user)" in seen(world, 1)
    assert "-TAIL = checked()" in seen(world, 1)
    assert "+TAIL = 1" in seen(world, 1)
    assert FIRST_LINE not in seen(world, 1)


def test_a_check_that_goes_in_two_steps_is_read_as_removed(world: World) -> None:
    """Case C8: the line that the second push removes is in no diff against the target branch."""
    world.commit("main", {"guard.py": "def enter(user):\n    check(user)\n    return room(user)\n"})
    pull = world.open_pull_request(
        {"guard.py": "def enter(user):\n    check_well(user)\n    return room(user)\n"}
    )
    world.run()
    pull.push({"guard.py": "def enter(user):\n    return room(user)\n"})
    world.run()

    assert "1L2 -    check(user)" in nameable(world.llm.requests[1])


def test_what_stands_beside_a_line_that_was_taken_back_is_read_again(world: World) -> None:
    """The pull request adds a lock and takes it away again: the diff against the target branch is shorter only."""
    locked = "import os\n\n\ndef load(name):\n    lock.acquire()\n    write(name)\n    return open(name)\n"
    pull = world.open_pull_request({"app.py": locked})
    world.run()
    pull.push({"app.py": locked.replace("    lock.acquire()\n", "")})
    world.run()

    assert nameable(world.llm.requests[1]) == ["1R5 +    write(name)"]


@pytest.mark.forge("github")
def test_a_renamed_file_is_known_by_its_old_name(world: World) -> None:
    """GitLab's comparison has an empty diff for it, as for files that it leaves out: it is read again there."""
    pull = open_first(world)
    branch = f"feature-{world.branch_of(pull.number)}"
    world.commit(branch, {}, renames={"shop.py": "store.py"})
    world.run()
    assert len(world.llm.requests) == 1
    assert "| `store.py` | read before |" in pull.summary
    pull.push({"store.py": SECOND})
    world.run()

    assert "second()" in seen(world, 1)
    assert "first()" not in seen(world, 1)


def test_a_review_that_was_not_complete_is_not_built_upon(world: World) -> None:
    world.llm.answer_with(lambda _request: "this is no JSON")
    pull = open_first(world)
    assert pull.summary.startswith("**Partly reviewed")
    world.llm.answer_with(lambda _request: [])
    asked = len(world.llm.requests)
    pull.push({"shop.py": SECOND})
    world.run()

    assert FIRST_LINE in seen(world, asked)
    assert pull.summary.startswith("**No issues found in 1 of 1 file**")


def test_a_review_that_failed_is_not_built_upon(world: World) -> None:
    pull = open_first(world)
    world.host.deny("pull request")
    pull.push({"shop.py": SECOND})
    world.run()
    assert pull.review.state is ReviewState.FAILED
    asked = len(world.llm.requests)
    pull.comment("/review")
    world.run()

    assert pull.review.state is ReviewState.DONE
    assert FIRST_LINE in seen(world, asked)


def test_a_review_whose_findings_could_not_be_posted_is_not_built_upon(world: World) -> None:
    world.llm.answer_with(
        lambda request: [finding(line="1R1", quote="HEAD = first()")] if FIRST_LINE in request.prompt else []
    )
    world.host.deny("comment")
    pull = open_first(world)
    assert pull.review.state is ReviewState.FAILED
    assert pull.review.result
    pull.push({"shop.py": SECOND})
    world.run()

    assert FIRST_LINE in seen(world, 1)
    assert pull.inline == ["shop.py:1 RIGHT"]


def test_asking_for_a_review_reads_what_is_new_and_asking_again_everything(world: World) -> None:
    """Case B10: on the same head there is nothing new, so that is not what was meant."""
    pull = open_first(world)
    world.sandbox.convert_to_draft(world.repository, pull.number)
    pull.push({"shop.py": SECOND})
    pull.comment("/review")
    world.run()
    assert "first()" not in seen(world, 1)
    assert SECOND_LINE in seen(world, 1)
    asked = len(world.llm.requests)
    pull.comment("/review")
    world.run()

    assert FIRST_LINE in seen(world, asked)
    assert SECOND_LINE in seen(world, asked)


def test_everything_is_read_where_that_is_asked_for(world: World) -> None:
    pull = open_first(world)
    world.sandbox.convert_to_draft(world.repository, pull.number)
    pull.push({"shop.py": SECOND})
    pull.comment("/review full")
    world.run()

    assert FIRST_LINE in seen(world, 1)
    assert pull.summary.startswith("**No issues found in 1 of 1 file**")


def test_another_target_branch_makes_the_review_a_full_one(world: World) -> None:
    world.commit("next", {"other.py": "Y = 2\n"}, start="main")
    pull = open_first(world)
    pull.retarget("next")
    pull.push({"shop.py": SECOND})
    world.run()

    assert FIRST_LINE in seen(world, 1)
    assert "since" not in pull.summary


@pytest.mark.parametrize("status", [404, 503])
def test_what_the_forge_cannot_compare_is_read_as_a_whole(world: World, status: int) -> None:
    pull = open_first(world)
    world.sandbox.fail("GET", "/compare", status=status, body={"message": "No."}, times=9)
    pull.push({"shop.py": SECOND})
    world.run()

    assert FIRST_LINE in seen(world, 1)
    assert pull.summary.startswith("**No issues found in 1 of 1 file**")


def test_findings_without_a_line_stay_in_the_summary(world: World) -> None:
    """They stand nowhere else, and a review of what is new cannot find them again."""
    world.llm.will_say([finding(line="1R1", quote="nowhere to be seen", message="The order is lost.")])
    pull = open_first(world)
    assert "The order is lost." in pull.summary
    for number in range(2):
        pull.push({f"new_{number}.py": "NEW = 1\n"})
        world.run()
        assert "; 1 earlier finding stands**" in pull.summary
        assert "Without a line, from earlier reviews:" in pull.summary
        assert "The order is lost." in pull.summary
    pull.push({"shop.py": BEFORE})
    world.run()

    assert "The order is lost." not in pull.summary, "the file is not changed any more"


def test_a_file_that_was_skipped_before_and_is_not_now_is_read(world: World) -> None:
    world.commit("main", {".redline.toml": 'ignore = ["notes.py"]\n'})
    pull = open_first(world, **{"notes.py": "NOTES = 1\n"})
    assert "NOTES" not in seen(world, 0)
    world.commit("main", {".redline.toml": ""})
    pull.push({"shop.py": SECOND})
    world.run()

    assert "+NOTES = 1" in seen(world, 1)
    assert "first()" not in seen(world, 1)
