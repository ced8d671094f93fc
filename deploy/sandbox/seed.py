"""A repository and a pull request to begin with, with bugs that a reviewer should find."""

from deploy.sandbox.forge import ForgeSandbox

REPOSITORY = "acme/shop"

_BASKET = '''"""A customer's basket."""

from decimal import Decimal


class Basket:
    def __init__(self, currency):
        self.currency = currency
        self.items = []

    def add(self, product, quantity=1):
        self.items.append((product, quantity))

    def total(self):
        return sum(product.price * quantity for product, quantity in self.items)

    def is_empty(self):
        return not self.items
'''
_ORDERS = '''"""Orders in the database."""

import sqlite3


def connect(path):
    return sqlite3.connect(path)


def find_orders(connection, customer_id):
    return connection.execute(
        "SELECT id, total FROM orders WHERE customer_id = ?", (customer_id,)
    ).fetchall()
'''
_BASKET_CHANGED = '''"""A customer's basket."""

from decimal import Decimal


class Basket:
    def __init__(self, currency, items=[]):
        self.currency = currency
        self.items = items

    def add(self, product, quantity=1):
        self.items.append((product, quantity))

    def total(self, discount=None):
        total = sum(product.price * quantity for product, quantity in self.items)
        if discount:
            total = total - total * discount.percent / 100
        return total

    def average_price(self):
        return self.total() / len(self.items)

    def is_empty(self):
        return not self.items
'''
_ORDERS_CHANGED = '''"""Orders in the database."""

import sqlite3


def connect(path):
    return sqlite3.connect(path)


def find_orders(connection, customer_id):
    return connection.execute(
        "SELECT id, total FROM orders WHERE customer_id = ?", (customer_id,)
    ).fetchall()


def search_orders(connection, text):
    return connection.execute(
        f"SELECT id, total FROM orders WHERE note LIKE '%{text}%'"
    ).fetchall()
'''
_README = "# shop\n\nA small shop, to try a reviewer on.\n"


def seed(sandbox: ForgeSandbox) -> int:
    """Fill an empty sandbox and return the pull request's number; `opened` is sent."""
    sandbox.create_repository(
        REPOSITORY, {"README.md": _README, "shop/basket.py": _BASKET, "shop/orders.py": _ORDERS}
    )
    sandbox.commit(
        REPOSITORY,
        "discounts",
        {"shop/basket.py": _BASKET_CHANGED, "shop/orders.py": _ORDERS_CHANGED},
        message="Add discounts and a search for orders",
    )
    return sandbox.open_pull_request(
        REPOSITORY,
        "discounts",
        title="Add discounts and a search for orders",
        body="Baskets take a discount in percent. Support can search orders by their note.",
    )
