"""Amounts of money, in cents."""


def to_cents(text):
    """Read an amount such as 12.50."""
    return int(float(text) * 100)


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
