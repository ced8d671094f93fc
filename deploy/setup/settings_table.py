"""Write the settings table of the README from the settings themselves: `python deploy/setup/settings_table.py`."""

import re
from pathlib import Path

from bot.settings import PREFIX, Settings

README = Path(__file__).resolve().parents[2] / "README.md"


def render_table() -> str:
    """Give the table as Markdown, a row for each setting."""
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else str(field.default)
        default = "" if default == "**********" or not default else f"`{default}`"
        rows.append(f"| `{PREFIX}{name.upper()}` | {default} | {field.description} |")
    return "\n".join(rows)


if __name__ == "__main__":
    text = README.read_text()
    table = f"<!-- settings -->\n{render_table()}\n<!-- /settings -->"
    README.write_text(
        re.sub(r"<!-- settings -->.*<!-- /settings -->", lambda _: table, text, flags=re.DOTALL)
    )
