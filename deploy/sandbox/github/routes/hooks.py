"""Webhooks and their deliveries, of repositories and of Apps."""

from flask import Response, jsonify

from deploy.sandbox.github import events
from deploy.sandbox.github.errors import ApiError, not_found
from deploy.sandbox.github.routes.apps import require_app
from deploy.sandbox.github.shapes.accounts import Json
from deploy.sandbox.github.shapes.hooks import delivery_json, full_delivery_json, hook_config_json, hook_json
from deploy.sandbox.github.state import Hook, Repository, now
from deploy.sandbox.github.web import allow, api_blueprint, body, core, page
from deploy.sandbox.outbox import Delivery

blueprint = api_blueprint("hooks", __name__)


@blueprint.get("/repos/<owner>/<repo>/hooks")
@allow("repository_hooks:admin")
def list_hooks(repository: Repository) -> Response:
    """List a repository's webhooks."""
    hooks = [hook for hook in core().state.hooks if hook.repository == repository.full_name]
    return page(hooks, lambda hook: hook_json(core().state, hook))


@blueprint.post("/repos/<owner>/<repo>/hooks")
@allow("repository_hooks:admin")
def create_hook(repository: Repository) -> tuple[Response, int]:
    """Add a webhook and ping it."""
    wanted = body("config")
    config = wanted["config"]
    if not config.get("url"):
        raise ApiError(
            422,
            "Validation Failed",
            errors=[
                {"resource": "Hook", "code": "custom", "message": "Config must contain URL for webhooks"}
            ],
        )
    if any(
        hook.url == config["url"] and hook.repository == repository.full_name for hook in core().state.hooks
    ):
        raise ApiError(
            422,
            "Validation Failed",
            errors=[
                {"resource": "Hook", "code": "custom", "message": "Hook already exists on this repository"}
            ],
        )
    hook = Hook(
        id=core().state.next_id(),
        url=config["url"],
        secret=config.get("secret") or "",
        content_type=config.get("content_type") or "form",
        events=tuple(wanted.get("events") or ("push",)),
        repository=repository.full_name,
        created_at=now(),
    )
    core().state.hooks.append(hook)
    events.ping(core(), hook)
    return jsonify(hook_json(core().state, hook)), 201


@blueprint.get("/repos/<owner>/<repo>/hooks/<int:hook_id>/deliveries")
@allow("repository_hooks:admin")
def list_hook_deliveries(repository: Repository, hook_id: int) -> Response:
    """List what a repository's webhook sent, newest first."""
    return page(_of(_hook(repository, hook_id)), _shape)


@blueprint.get("/repos/<owner>/<repo>/hooks/<int:hook_id>/deliveries/<int:delivery_id>")
@allow("repository_hooks:admin")
def get_hook_delivery(repository: Repository, hook_id: int, delivery_id: int) -> Response:
    """Show one delivery of a repository's webhook."""
    return _full(_find(_hook(repository, hook_id), delivery_id))


@blueprint.post("/repos/<owner>/<repo>/hooks/<int:hook_id>/deliveries/<int:delivery_id>/attempts")
@allow("repository_hooks:admin")
def redeliver_hook(repository: Repository, hook_id: int, delivery_id: int) -> tuple[Response, int]:
    """Send a delivery of a repository's webhook again."""
    core().outbox.redeliver(_find(_hook(repository, hook_id), delivery_id))
    return jsonify({}), 202


@blueprint.get("/app/hook/config")
def get_app_hook_config() -> Response:
    """Show the App's webhook configuration."""
    return jsonify(hook_config_json(_app_hook()))


@blueprint.patch("/app/hook/config")
def update_app_hook_config() -> Response:
    """Change the App's webhook configuration."""
    hook, wanted = _app_hook(), body()
    hook.url, hook.secret = wanted.get("url", hook.url), wanted.get("secret", hook.secret)
    hook.content_type = wanted.get("content_type", hook.content_type)
    return jsonify(hook_config_json(hook))


@blueprint.get("/app/hook/deliveries")
def list_app_deliveries() -> Response:
    """List what the App's webhook sent, newest first."""
    return page(_of(_app_hook()), _shape)


@blueprint.get("/app/hook/deliveries/<int:delivery_id>")
def get_app_delivery(delivery_id: int) -> Response:
    """Show one delivery of the App's webhook."""
    return _full(_find(_app_hook(), delivery_id))


@blueprint.post("/app/hook/deliveries/<int:delivery_id>/attempts")
def redeliver_app(delivery_id: int) -> tuple[Response, int]:
    """Send a delivery of the App's webhook again."""
    core().outbox.redeliver(_find(_app_hook(), delivery_id))
    return jsonify({}), 202


def _app_hook() -> Hook:
    require_app()
    return core().state.hooks[0]


def _hook(repository: Repository, hook_id: int) -> Hook:
    for hook in core().state.hooks:
        if hook.id == hook_id and hook.repository == repository.full_name:
            return hook
    raise not_found()


def _of(hook: Hook) -> list[Delivery]:
    return [delivery for delivery in reversed(core().outbox.deliveries) if delivery.hook is hook]


def _find(hook: Hook, delivery_id: int) -> Delivery:
    found = next((delivery for delivery in _of(hook) if delivery.id == delivery_id), None)
    if found is None:
        raise not_found()
    return found


def _full(delivery: Delivery) -> Response:
    return jsonify(full_delivery_json(delivery, *_origin(delivery)))


def _shape(delivery: Delivery) -> Json:
    return delivery_json(delivery, *_origin(delivery))


def _origin(delivery: Delivery) -> tuple[int | None, int | None]:
    payload = delivery.payload
    return payload.get("repository", {}).get("id"), payload.get("installation", {}).get("id")
