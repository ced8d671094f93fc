"""The engine that the settings name."""

from bot.llm.client import OpenAiLlm
from bot.settings import Settings


def open_llm(settings: Settings) -> OpenAiLlm:
    """Make the client of the configured engine; nothing is connected until it is asked."""
    return OpenAiLlm(
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        api_key=settings.llm_api_key.get_secret_value(),
        concurrency=settings.llm_concurrency,
        temperature=settings.llm_temperature,
        answer_format=settings.llm_answer_format,
    )
