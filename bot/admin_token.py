"""The admin token: the configured one, or one that is made at first start and kept in the data folder."""

import os
import secrets
from pathlib import Path

from bot.settings import Settings


def token_file(data_dir: Path) -> Path:
    """Give the file that a made token is kept in."""
    return data_dir / "admin-token"


def load_admin_token(settings: Settings) -> str:
    """Give the admin token, making one if there is none yet; several processes agree on the same."""
    configured = settings.admin_token.get_secret_value()
    if configured:
        return configured
    path = token_file(settings.data_dir)
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    mine = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    if not path.exists():
        # Written aside and linked in whole, so that nobody reads half a token and only the first one wins.
        mine.touch(mode=0o600)
        mine.write_text(secrets.token_urlsafe(32))
        try:
            path.hardlink_to(mine)
        except FileExistsError:
            pass
        finally:
            mine.unlink()
    return path.read_text().strip()
