"""bot.db.findings and llm_calls: what the model said, and what of it stands on the forge."""

from dataclasses import replace

from bot.db.claims import finish
from bot.db.findings import StoredFinding, load_findings, mark_posted, posted_fingerprints, save_result
from bot.db.llm_calls import LlmCall, list_llm_calls, record_llm_call
from bot.db.tables import ReviewState
from bot.findings import Place, Side
from tests.unit.db.builders import (
    HEAD,
    NEWER,
    OTHER_PR,
    PR,
    after,
    claimed_review,
    new_finding,
    new_review,
    read,
)

RENAMED = Place(
    old_path="old/ü.py",
    new_path="new/ü.py",
    side=Side.OLD,
    old_line=9,
    new_line=None,
    start_line=7,
    other_line=12,
    other_start_line=11,
    start_is_changed=True,
)


def test_findings_come_back_whole_and_in_order(database):
    claimed = claimed_review(database)
    given = [
        new_finding("z"),
        new_finding("a", line=None),
        replace(new_finding("m"), place=RENAMED, replacement="", code="\u2028\f\r x"),
    ]
    assert save_result(database, claimed, '{"a": 1}', given)
    stored = load_findings(database, claimed.review_id)
    assert stored == [StoredFinding(finding=each, posted_id=None) for each in given]
    assert repr(stored[2].finding.place) == repr(RENAMED), (
        "the counts of the other side, which do not compare"
    )
    assert read(database, claimed.review_id).result == '{"a": 1}'
    assert load_findings(database, claimed.review_id + 1) == []


def test_b7_posted_ids_are_kept_so_that_posting_can_go_on(database):
    claimed = claimed_review(database)
    save_result(database, claimed, "{}", [new_finding("f1"), new_finding("f2")])
    mark_posted(database, claimed, {"f2": "comment-2"}, "review-1")
    assert [each.posted_id for each in load_findings(database, claimed.review_id)] == [None, "comment-2"]
    assert read(database, claimed.review_id).review_ref == "review-1"


def test_a_second_result_replaces_the_first_but_not_what_is_posted(database):
    claimed = claimed_review(database)
    save_result(database, claimed, "{}", [new_finding("f1"), new_finding("f2")])
    mark_posted(database, claimed, {"f1": "comment-1"}, "review-1")
    save_result(database, claimed, '{"second": 1}', [new_finding("f3"), new_finding("f1")])
    found = {each.finding.fingerprint: each.posted_id for each in load_findings(database, claimed.review_id)}
    assert found == {"f1": "comment-1", "f3": None}


def test_findings_with_one_fingerprint_are_one(database):
    claimed = claimed_review(database)
    save_result(database, claimed, "{}", [new_finding("f1"), replace(new_finding("f1"), message="again")])
    assert [each.finding.message for each in load_findings(database, claimed.review_id)] == [
        "Input reaches eval."
    ]


def test_b3_posted_fingerprints_are_of_all_reviews_of_the_pull_request(database):
    for ref, head, fingerprint in ((PR, HEAD, "f1"), (PR, NEWER, "f2"), (OTHER_PR, HEAD, "f3")):
        claimed = claimed_review(database, new_review(ref=ref, head_sha=head))
        save_result(database, claimed, "{}", [new_finding(fingerprint), new_finding("unposted")])
        mark_posted(database, claimed, {fingerprint: f"comment-{fingerprint}"}, "r")
        finish(database, claimed, state=ReviewState.DONE, reason="", now=after(1), latency=None)
    assert posted_fingerprints(database, PR) == {"f1", "f2"}


def test_marking_touches_only_this_review(database):
    first = claimed_review(database)
    save_result(database, first, "{}", [new_finding("f1")])
    finish(database, first, state=ReviewState.DONE, reason="", now=after(1), latency=None)
    second = claimed_review(database, new_review(head_sha=NEWER))
    save_result(database, second, "{}", [new_finding("f1")])
    mark_posted(database, second, {"f1": "comment-1"}, "r")
    assert load_findings(database, first.review_id)[0].posted_id is None


def test_engine_calls_are_listed_as_they_were_recorded(database):
    claimed = claimed_review(database)
    good = LlmCall(
        chunk=0, attempt=1, model="coder", priority=0, started_at=after(1), ttft_ms=120.5, total_ms=900.25,
        prompt_tokens=800, cached_tokens=500, completion_tokens=90, tokens_per_s=115.0, finish_reason="stop",
        outcome="ok", error="", cache_hit=False,
    )  # fmt: skip
    bad = replace(
        good, chunk=1, ttft_ms=None, tokens_per_s=None, outcome="unavailable", error="503", cache_hit=True
    )
    for call in (bad, good):
        record_llm_call(database, claimed.review_id, call)
    assert list_llm_calls(database, claimed.review_id) == [bad, good]
    assert list_llm_calls(database, claimed.review_id + 1) == []
