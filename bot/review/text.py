"""Text that may have come from any bytes, made fit for databases and forges."""


def storable(text: str) -> str:
    """Drop NULs, which Postgres refuses, and replace bytes that are not UTF-8, which JSON cannot carry."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
