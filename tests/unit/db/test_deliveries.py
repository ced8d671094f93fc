"""bot.db.deliveries: stored once, found, replayed."""

from bot.db.deliveries import (
    find_delivery,
    get_delivery,
    insert_delivery,
    list_deliveries,
    load_payload,
    set_outcome,
)
from bot.db.sweeping import purge
from tests.unit.db.builders import after, new_delivery


def insert(database, delivery, *, outcome="queued", number=7):
    with database.transaction() as connection:
        return insert_delivery(connection, delivery, number=number, outcome=outcome)


def test_b1_second_delivery_of_the_same_id_is_a_duplicate(database):
    first = insert(database, new_delivery("g1", payload=b"first"))
    assert first is not None
    assert insert(database, new_delivery("g1", payload=b"second")) is None
    assert load_payload(database, first).payload == b"first"
    assert len(list_deliveries(database)) == 1


def test_b1_another_forge_may_use_the_same_id(database):
    github = new_delivery("g1")
    gitlab = type(github)(**{name: getattr(github, name) for name in github.__slots__} | {"forge": "gitlab"})
    assert insert(database, github) is not None
    assert insert(database, gitlab) is not None
    assert find_delivery(database, "g1").forge == "gitlab"


def test_a_delivery_comes_back_as_it_arrived(database):
    given = new_delivery(payload=b'{"name": "\xff\x00"}')
    assert load_payload(database, insert(database, given)) == given


def test_unknown_deliveries_are_none(database):
    assert get_delivery(database, 1) is None
    assert find_delivery(database, "g1") is None
    assert load_payload(database, 1) is None


def test_outcome_can_be_stored_after_the_delivery(database):
    with database.transaction() as connection:
        delivery_id = insert_delivery(connection, new_delivery(), number=None, outcome="received")
        set_outcome(connection, delivery_id, outcome="queued", reason="a push", review_id=5)
    found = get_delivery(database, delivery_id)
    assert (found.outcome, found.reason, found.review_id, found.number) == ("queued", "a push", 5, None)


def test_list_is_newest_first_filtered_and_paged(database):
    ids = [
        insert(database, new_delivery(f"g{n}"), outcome="queued" if n % 2 else "ignored") for n in range(6)
    ]
    assert [each.delivery_id for each in list_deliveries(database, limit=2)] == [ids[5], ids[4]]
    assert [each.delivery_id for each in list_deliveries(database, before_id=ids[4], limit=2)] == [
        ids[3],
        ids[2],
    ]
    assert [each.delivery_id for each in list_deliveries(database, outcome="ignored")] == [
        ids[4],
        ids[2],
        ids[0],
    ]
    assert list_deliveries(database, repository="team/other") == []
    assert len(list_deliveries(database, forge="github", repository="team/app")) == 6


def test_purge_forgets_old_payloads_but_still_knows_duplicates(database):
    old = insert(database, new_delivery("old", received_at=after(0)))
    young = insert(database, new_delivery("young", received_at=after(86_400)))
    assert purge(database, after(86_400 * 2 - 1), retention_days=1).payloads == 1
    assert load_payload(database, old) is None
    assert get_delivery(database, old).guid == "old"
    assert load_payload(database, young) is not None
    assert insert(database, new_delivery("old")) is None
