"""Settings: the only reader of environment variables.

Everything is optional: with nothing set, Redline runs embedded, with SQLite, a broker of its own and files in
`DATA_DIR`. Each field is the variable `REDLINE_<NAME>`.
"""

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "REDLINE_"
BROKER_SCHEMES = ("redis", "rediss", "redis+socket", "sentinel", "amqp", "amqps", "filesystem")


class SettingsError(Exception):
    """A setting cannot work; the text is one sentence that names the variable and what to do."""


class Settings(BaseSettings):
    """Hold the settings of one process; frozen, and passed by argument rather than imported."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True)

    data_dir: Path = Field(
        default=Path(".redline"), description="Folder of the embedded database, broker and tokens"
    )
    database_url: str = Field(
        default="", description="SQLAlchemy URL of the database; empty means SQLite in DATA_DIR"
    )
    broker_url: str = Field(
        default="", description="Celery broker URL; empty means a Valkey or Redis of our own in DATA_DIR"
    )
    public_url: str = Field(default="", description="Address under which people reach this server, for links")
    web_host: str = Field(default="127.0.0.1", description="Address that the web process listens on")
    web_port: int = Field(default=8470, ge=1, le=65535, description="Port that the web process listens on")
    admin_token: SecretStr = Field(
        default=SecretStr(""),
        description="Token of the admin pages; empty means one that is made at first start and kept in DATA_DIR",
    )

    llm_base_url: str = Field(
        default="http://127.0.0.1:8000/v1",
        description="Address of the OpenAI-compatible engine, with or without /v1",
    )
    llm_model: str = Field(
        default="", description="Model to ask for; empty means the one that the engine serves"
    )
    llm_api_key: SecretStr = Field(default=SecretStr(""), description="Key of the engine, if it wants one")
    llm_deadline_s: Annotated[float, Field(gt=0, le=3600)] = Field(
        default=120.0,
        description="Seconds that one question to the engine may take, waiting and retries included",
    )
    llm_concurrency: Annotated[int, Field(ge=1, le=256)] = Field(
        default=4, description="Requests that one worker process has in flight at the engine at most"
    )
    llm_answer_tokens: Annotated[int, Field(ge=64, le=8192)] = Field(
        default=1024, description="Tokens that one answer may have at most"
    )
    llm_chunk_tokens: Annotated[int, Field(ge=200, le=100_000)] = Field(
        default=4000,
        description="Tokens of the diff in one question at most; small models judge shorter parts better",
    )
    llm_answer_format: Literal["json_schema", "json_object", "none"] = Field(
        default="json_schema",
        description="Strictest form that the engine is asked for: json_schema, json_object or none",
    )
    llm_temperature: Annotated[float, Field(ge=0, le=2)] = Field(
        default=0.0, description="Sampling temperature; 0 is greedy and repeatable"
    )
    low_queue_tokens: Annotated[int, Field(ge=1)] = Field(
        default=4000, description="Reviews of more estimated tokens than this go to the queue `low`"
    )

    github_api_url: str = Field(
        default="https://api.github.com",
        description="API address; https://HOST/api/v3 for GitHub Enterprise Server",
    )
    github_token: SecretStr = Field(
        default=SecretStr(""), description="Token of the account that posts reviews"
    )
    github_app_id: str = Field(default="", description="Id of the GitHub App, in place of a token")
    github_private_key_file: Path | None = Field(
        default=None, description="Private key (PEM) of the GitHub App"
    )
    github_webhook_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Webhook secret; several, comma-separated, while one is being replaced",
    )

    gitlab_url: str = Field(
        default="https://gitlab.com",
        description="Address of GitLab, with the path if it runs below one: https://HOST/gitlab",
    )
    gitlab_token: SecretStr = Field(
        default=SecretStr(""),
        description="Access token of the account that posts reviews on GitLab, with the scope api",
    )
    gitlab_webhook_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Secret token or signing token (whsec_...) of GitLab's webhooks; several, comma-separated",
    )
    gitlab_ca_file: Path | None = Field(
        default=None,
        description="Certificates (PEM) to check GitLab's by, where the system does not know its authority",
    )

    bot_name: str = Field(
        default="redline", description="Name that `@NAME review` in a comment calls the bot by"
    )
    review_language: str = Field(default="English", description="Language that findings are written in")
    max_comments: Annotated[int, Field(ge=1, le=40)] = Field(
        default=20, description="Inline comments per review at most; the rest is listed in the summary"
    )
    reviews_per_hour: Annotated[int, Field(ge=1)] = Field(
        default=10, description="Reviews that comments may ask for per pull request and hour"
    )
    repository_concurrency: Annotated[int, Field(ge=1)] = Field(
        default=2, description="Reviews of one repository that run at once at most"
    )
    worker_threads: Annotated[int, Field(ge=1, le=256)] = Field(
        default=4, description="Reviews that one worker process runs at once"
    )
    lease_s: Annotated[float, Field(ge=1)] = Field(
        default=60.0, description="Seconds after which a review whose worker died is given to another"
    )
    max_attempts: Annotated[int, Field(ge=1)] = Field(
        default=5, description="Times that a review is tried before it ends as failed"
    )
    sweep_interval_s: Annotated[float, Field(gt=0)] = Field(
        default=10.0, description="Seconds between two passes of the sweeper"
    )
    republish_after_s: Annotated[float, Field(gt=0)] = Field(
        default=900.0, description="Seconds after which a queued review that nobody took is published again"
    )
    retention_days: Annotated[int, Field(ge=1)] = Field(
        default=90, description="Days that webhook payloads, engine calls and stored results are kept"
    )
    log_format: Annotated[str, Field(pattern="^(console|json)$")] = Field(
        default="console", description="console for people, json for a log collector"
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        for name in ("llm_base_url", "github_api_url", "gitlab_url", "public_url"):
            value: str = getattr(self, name)
            parts = urlsplit(value)
            if value and (parts.scheme not in ("http", "https") or not parts.hostname):
                raise ValueError(
                    f"{PREFIX}{name.upper()} is {value!r}: it must be an http:// or https:// address"
                )
        scheme = self.broker_url.partition("://")[0]
        if self.broker_url and scheme not in BROKER_SCHEMES:
            raise ValueError(
                f"{PREFIX}BROKER_URL starts with {scheme!r}: write redis://HOST:6379/0 or amqp://HOST, "
                f"with one of {', '.join(BROKER_SCHEMES)}"
            )
        if self.github_app_id and not self.github_private_key_file:
            raise ValueError(
                f"{PREFIX}GITHUB_APP_ID is set: set {PREFIX}GITHUB_PRIVATE_KEY_FILE to the App's key too"
            )
        if self.github_private_key_file and not self.github_app_id:
            raise ValueError(
                f"{PREFIX}GITHUB_PRIVATE_KEY_FILE is set: set {PREFIX}GITHUB_APP_ID to the App's id too"
            )
        if self.github_private_key_file and not self.github_private_key_file.is_file():
            raise ValueError(
                f"{PREFIX}GITHUB_PRIVATE_KEY_FILE is {str(self.github_private_key_file)!r}: there is no such file"
            )
        if self.gitlab_ca_file and not self.gitlab_ca_file.is_file():
            raise ValueError(f"{PREFIX}GITLAB_CA_FILE is {str(self.gitlab_ca_file)!r}: there is no such file")
        if self.github_app_id and self.github_token.get_secret_value():
            raise ValueError(f"set {PREFIX}GITHUB_TOKEN or {PREFIX}GITHUB_APP_ID, not both")
        return self

    @property
    def effective_database_url(self) -> str:
        """Give the database that is used: the configured one, or SQLite in the data folder."""
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'redline.db'}"

    @property
    def github_webhook_secrets(self) -> tuple[bytes, ...]:
        """Give the accepted webhook secrets of GitHub, none if the forge is not configured."""
        return split_secrets(self.github_webhook_secret)

    @property
    def gitlab_webhook_secrets(self) -> tuple[bytes, ...]:
        """Give the accepted webhook secrets of GitLab, signing tokens among them, none if it is not configured."""
        return split_secrets(self.gitlab_webhook_secret)


def split_secrets(value: SecretStr) -> tuple[bytes, ...]:
    """Split a comma-separated secret into its values."""
    return tuple(part.strip().encode() for part in value.get_secret_value().split(",") if part.strip())


def load_settings() -> Settings:
    """Read the environment; raises SettingsError with one sentence for the first value that cannot work."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:
            raise SettingsError(str(first["ctx"]["error"]) if "ctx" in first else first["msg"]) from None
        name = f"{PREFIX}{str(first['loc'][0]).upper()}"
        raise SettingsError(
            f"{name} is {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}"
        ) from None
