"""The shop's files and database."""

import os
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
    return open(INVOICES / name, "rb").read()


def backup(target):
    """Copy the database to another file."""
    os.system("cp /srv/shop/shop.db " + target)
