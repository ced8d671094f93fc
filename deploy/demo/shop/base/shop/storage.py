"""The shop's files and database."""

import sqlite3
from pathlib import Path

INVOICES = Path("/srv/shop/invoices")


def connect():
    """Open the shop's database."""
    connection = sqlite3.connect("/srv/shop/shop.db")
    connection.row_factory = sqlite3.Row
    return connection


def read_invoice(name):
    """Read an invoice by its file name."""
    path = (INVOICES / name).resolve()
    if not path.is_relative_to(INVOICES):
        raise PermissionError(name)
    return path.read_bytes()


def backup(target):
    """Copy the database to another file."""
    with connect() as db, sqlite3.connect(target) as copy:
        db.backup(copy)
