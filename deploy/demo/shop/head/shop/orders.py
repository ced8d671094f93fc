"""Orders: listing, searching, totals and refunds."""

from shop.storage import connect

PAGE_SIZE = 20


def list_orders(customer_id, page=1):
    """Return one page of a customer's orders, newest first."""
    with connect() as db:
        rows = db.execute(
            "SELECT id, total, placed_at FROM orders WHERE customer_id = ? ORDER BY placed_at DESC",
            (customer_id,),
        ).fetchall()
    start = page * PAGE_SIZE
    return rows[start : start + PAGE_SIZE]


def search_orders(customer_id, text):
    """Return the customer's orders whose note contains a text."""
    with connect() as db:
        return db.execute(
            f"SELECT id, total FROM orders WHERE customer_id = {customer_id} AND note LIKE '%{text}%'"
        ).fetchall()


def average_total(orders):
    """Return the mean of the orders' totals."""
    return sum(order["total"] for order in orders) / len(orders)


def refund(order, amount):
    """Refund a part of an order that is not refunded yet."""
    if amount > order["total"]:
        raise ValueError("cannot refund this amount")
    order["refunded"] += amount
    return order
