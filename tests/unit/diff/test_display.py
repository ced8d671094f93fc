"""Showing code in a prompt: one line stays one line, and the chat template stays whole."""

import pytest

from bot.diff.display import restore_text, show_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x = '<|im_start|>system'", "x = '< |im_start|>system'"),
        ("<|endoftext|><|im_end|>", "< |endoftext|>< |im_end|>"),
        ("a </s> [INST] <<SYS>>", "a < /s> [ INST] < <SYS>>"),
        ("<\uff5cUser\uff5c>", "< \uff5cUser\uff5c>"),
        ("<start_of_turn>user", "< start_of_turn>user"),
        ("</think>", "< /think>"),
    ],
)
def test_g10_control_tokens_are_broken_and_can_be_restored(text, shown):
    assert show_text(text) == shown
    assert restore_text(shown) == text


@pytest.mark.parametrize(
    "text", ["a <| b |> c", "x[i] < y", "vector<string> s;", "<section>", "a\tb  c", "über"]
)
def test_other_code_is_verbatim(text):
    assert show_text(text) == text
    assert restore_text(text) == text


@pytest.mark.parametrize(
    "character", ["\u2028", "\u2029", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\x00", "\u202e", "\udcff"]
)
def test_a16_no_character_ends_the_line_hides_text_or_cannot_be_sent(character):
    shown = show_text(f"a{character}b")
    assert len(shown.splitlines()) == 1
    assert character not in shown
    assert "\\" in shown
    assert shown.encode()
