"""Amounts of money, in cents."""

from decimal import ROUND_HALF_UP, Decimal


def to_cents(text):
    """Read an amount such as 12.50."""
    return int((Decimal(text) * 100).to_integral_value(ROUND_HALF_UP))


def format_cents(cents):
    """Write an amount such as 12.50."""
    return f"{cents // 100}.{cents % 100:02d}"


def with_tax(cents, percent):
    """Add a tax and round to whole cents."""
    return cents + (cents * percent + 50) // 100


def split_evenly(cents, parts):
    """Split an amount so that the parts add up to it again."""
    share, rest = divmod(cents, parts)
    return [share + (1 if number < rest else 0) for number in range(parts)]
