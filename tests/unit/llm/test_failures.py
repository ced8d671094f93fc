"""What engines say, in all wordings that are known, and what it is taken to mean."""

import pytest

from bot.llm import failures
from bot.llm.base import LlmRefused, PromptTooLong
from bot.llm.failures import Complaint, FormatRefused, read_complaint

SIZING = {
    "vLLM 0.32": (
        (
            "This model's maximum context length is 4096 tokens. However, your prompt contains 5000 input tokens, "
            "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt."
        ),
        4096,
        5000,
    ),
    "vLLM 0.32, counted only up to its limit": (
        (
            "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input "
            "tokens, which exceeds this limit even without any output tokens."
        ),
        4096,
        None,
    ),
    "vLLM 0.32, by characters": (
        (
            "This model's maximum context length is 4096 tokens. However, your prompt contains 360148 characters (more "
            "than 331776 characters, which is the upper bound for 4096 input tokens)."
        ),
        4096,
        None,
    ),
    "vLLM, earlier": (
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the "
            "messages, 1000 in the completion). Please reduce the length of the messages or completion."
        ),
        4096,
        4000,
    ),
    "vLLM, budget": (
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 "
            "tokens and your request has 100 input tokens (5000 > 4096 - 100)."
        ),
        4096,
        100,
    ),
    "OpenAI": (
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. "
            "Please reduce the length of the messages."
        ),
        8192,
        9001,
    ),
    "SGLang": (
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        4096,
        5000,
    ),
    "SGLang, total": (
        (
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of "
            "5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion."
        ),
        4096,
        4000,
    ),
    "llama.cpp": (
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        4096,
        5000,
    ),
    "TGI": ("Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", 4095, 5000),
}


@pytest.mark.parametrize("engine", SIZING)
def test_g4_every_known_wording_of_too_long_is_sizing(engine):
    message, context, prompt = SIZING[engine]
    error = failures._classify_bad_request(Complaint(message=message, param=""))
    assert isinstance(error, PromptTooLong)
    assert (error.context_tokens, error.prompt_tokens) == (context, prompt)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "nested", "param": "model"}}, "nested"),
        ({"message": "top level", "object": "error"}, "top level"),
        ({"error": "Unauthorized"}, "Unauthorized"),
        ({"detail": "Not Found"}, "Not Found"),
        ("plain", "plain"),
        (None, ""),
        ([], ""),
    ],
)
def test_every_shape_of_an_error_is_read(body, message):
    assert read_complaint(body).message == message


def test_a_refused_format_is_told_from_a_refused_request():
    message = "response_format type 'json_schema' is not supported"
    assert isinstance(failures._classify_bad_request(Complaint(message=message, param="")), FormatRefused)
    assert isinstance(failures._classify_bad_request(Complaint(message="bad seed", param="seed")), LlmRefused)


def test_the_engines_words_are_quoted_on_one_bounded_line():
    error = failures._classify_bad_request(Complaint(message="odd\n" * 500, param=""))
    assert "\n" not in str(error)
    assert len(str(error)) < 400
