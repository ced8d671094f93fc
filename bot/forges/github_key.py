"""The private key of a GitHub App: read, and checked, before anything is signed with it.

https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/managing-private-keys-for-github-apps
"""

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from bot.forges.base import ForgeDenied


def read_private_key(file: Path) -> str:
    """Read an App's key; raises ForgeDenied with what is wrong with the file."""
    where = f"REDLINE_GITHUB_PRIVATE_KEY_FILE ({file})"
    try:
        text = file.read_text(encoding="ascii")
    except OSError as error:
        raise ForgeDenied(f"{where} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ForgeDenied(f"{where} is not in PEM form: it is no text.") from error
    problem = _problem(text)
    if problem:
        raise ForgeDenied(f"{where} {problem}: download a private key from the App's settings on GitHub.")
    return text


def _problem(text: str) -> str:
    """Say what keeps a text from being an App's key; "" if nothing does."""
    if not text.strip():
        return "is empty"
    if "-----BEGIN " not in text:
        return "is not in PEM form"
    if "PRIVATE KEY-----" not in text:
        return "holds no private key, but a public key or a certificate"
    try:
        key = load_pem_private_key(text.encode(), password=None)
    except TypeError:
        return "is protected by a password, which nobody is there to enter"
    except (ValueError, UnsupportedAlgorithm):
        return "holds a key that is damaged or incomplete"
    return "" if isinstance(key, RSAPrivateKey) else "holds a key of another kind than RSA"
