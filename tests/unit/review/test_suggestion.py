"""Suggestions that would break the file are not offered."""

import pytest

from bot.review.suggestion import is_plausible


@pytest.mark.parametrize(
    ("code", "replacement", "path"),
    [
        ("    return eval(text)", "    return ast.literal_eval(text)", "a.py"),
        ("if user.hash != given:", "if not hmac.compare_digest(user.hash, given):", "a.py"),
        ("else:", "elif ready:", "a.py"),
        ("    start = page * SIZE", "    start = (page - 1) * SIZE", "a.py"),
        ("foo(a,", "foo(b, a,", "a.py"),
        ("if (user == null) {", "if (user === null) {", "a.ts"),
        ('x = "("', 'x = "(["', "a.js"),
        ("}", "}", "a.go"),
        ("        yield item", "        yield item\n        item.close()", "a.py"),
    ],
)
def test_sensible_ones_are_kept(code: str, replacement: str, path: str) -> None:
    assert is_plausible(replacement, code, path)


@pytest.mark.parametrize(
    ("code", "replacement", "path"),
    [
        ("if user.hash != given:", "this is a security hole", "a.py"),
        ("if user.hash != given:", "user", "a.py"),
        ("return open(name)", "backup", "a.py"),
        ("return open(name)", "return open(name", "a.py"),
        ("return open(name)", "return the open name", "a.py"),
        ("call(a, b)", "call(a, b))", "a.ts"),
        ("if (a) {", "if (a)", "a.ts"),
        ("package shop;", "token", "a.java"),
    ],
)
def test_broken_ones_are_left_out(code: str, replacement: str, path: str) -> None:
    """Case F8."""
    assert not is_plausible(replacement, code, path)
