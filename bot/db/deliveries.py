"""Webhook requests as they arrived: stored before the forge gets an answer, found and replayed later."""

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, select, update
from sqlalchemy.dialects import postgresql, sqlite

from bot.db.engine import Database
from bot.db.prepared import Prepared
from bot.db.tables import delivery
from bot.events import Delivery

_KEY = ("forge", "guid")
_INSERT = {
    "sqlite": sqlite.insert(delivery).on_conflict_do_nothing(index_elements=_KEY).returning(delivery.c.id),
    "postgresql": postgresql.insert(delivery)
    .on_conflict_do_nothing(index_elements=_KEY)
    .returning(delivery.c.id),
}
_INSERT_DELIVERY = Prepared(_INSERT, tuple(column.name for column in delivery.c if column.name != "id"))
# Payloads are up to 25 MB and lists do not show them.
_WITHOUT_PAYLOAD: Final = tuple(column for column in delivery.c if column.name != "payload")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDelivery:
    """A stored delivery without its payload; `outcome` is what was done about it and `reason` why."""

    delivery_id: int
    forge: str
    guid: str
    event: str
    action: str
    repository: str
    number: int | None
    sender: str
    received_at: datetime
    request_id: str
    outcome: str
    reason: str
    review_id: int | None


def insert_delivery(
    connection: Connection,
    new: Delivery,
    *,
    number: int | None,
    outcome: str,
    reason: str = "",
    review_id: int | None = None,
) -> int | None:
    """Store a delivery and give its id, or None if the forge has sent this one before (cases B1).

    Called after `reviews.enqueue` it can name the review at once; on None roll the transaction back.
    """
    row = {
        "forge": new.forge,
        "guid": new.guid,
        "event": new.event,
        "action": new.action,
        "repository": new.repository,
        "number": number,
        "sender": new.sender,
        "received_at": new.received_at,
        "request_id": new.request_id,
        "outcome": outcome,
        "reason": reason,
        "review_id": review_id,
        "payload": new.payload,
    }
    with closing(_INSERT_DELIVERY.run(connection, row)) as cursor:
        inserted = cursor.fetchone()
    return None if inserted is None else int(inserted[0])


def set_outcome(
    connection: Connection, delivery_id: int, *, outcome: str, reason: str = "", review_id: int | None = None
) -> None:
    """Store what was done about a delivery that was inserted first."""
    connection.execute(
        update(delivery)
        .where(delivery.c.id == delivery_id)
        .values(outcome=outcome, reason=reason, review_id=review_id)
    )


def get_delivery(db: Database, delivery_id: int) -> StoredDelivery | None:
    """Read one delivery."""
    return _one(db, select(*_WITHOUT_PAYLOAD).where(delivery.c.id == delivery_id))


def find_delivery(db: Database, guid: str) -> StoredDelivery | None:
    """Read the delivery that a forge knows by this id; the newest, should two forges use the same one."""
    statement = select(*_WITHOUT_PAYLOAD).where(delivery.c.guid == guid)
    return _one(db, statement.order_by(delivery.c.id.desc()).limit(1))


def list_deliveries(
    db: Database,
    *,
    forge: str | None = None,
    repository: str | None = None,
    outcome: str | None = None,
    before_id: int | None = None,
    limit: int = 100,
) -> list[StoredDelivery]:
    """List deliveries, newest first; `before_id` continues after a page."""
    statement = select(*_WITHOUT_PAYLOAD).order_by(delivery.c.id.desc()).limit(limit)
    if before_id is not None:
        statement = statement.where(delivery.c.id < before_id)
    for name, value in {"forge": forge, "repository": repository, "outcome": outcome}.items():
        if value is not None:
            statement = statement.where(delivery.c[name] == value)
    with db.reading() as connection:
        return [_read_delivery(row) for row in connection.execute(statement)]


def load_payload(db: Database, delivery_id: int) -> Delivery | None:
    """Read a delivery as it arrived, to replay it; None if it is unknown or its payload was purged."""
    statement = select(delivery).where(delivery.c.id == delivery_id, delivery.c.payload.is_not(None))
    with db.reading() as connection:
        row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    return Delivery(
        forge=row.forge,
        guid=row.guid,
        event=row.event,
        action=row.action,
        repository=row.repository,
        sender=row.sender,
        payload=row.payload,
        request_id=row.request_id,
        received_at=row.received_at,
    )


def _one(db: Database, statement: Select[Any]) -> StoredDelivery | None:
    with db.reading() as connection:
        row = connection.execute(statement).one_or_none()
    return None if row is None else _read_delivery(row)


def _read_delivery(row: Row[Any]) -> StoredDelivery:
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's documented name for it
    return StoredDelivery(delivery_id=values.pop("id"), **values)
