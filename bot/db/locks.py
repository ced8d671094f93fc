"""Locks by name on Postgres; on SQLite a write transaction already holds the only lock there is."""

from hashlib import blake2b

from sqlalchemy import Connection, text

_LOCK = text("SELECT pg_advisory_xact_lock(:key)")


def lock_until_commit(connection: Connection, *name: str) -> None:
    """Wait until no other transaction holds the lock of this name, then hold it until commit or rollback."""
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK, {"key": lock_key(*name)})


def lock_key(*name: str) -> int:
    """Give the 64-bit signed number that Postgres knows the lock by."""
    digest = blake2b("\0".join(name).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
