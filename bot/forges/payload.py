"""Reading fields of a webhook's JSON: each is there with its type, or the error names it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.forges.base import BadPayload

MAX_NUMBER = 2**31 - 1  # what an integer column holds
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def parse_json_object(text: bytes | str) -> "Fields":
    """Parse a JSON object; raises BadPayload for anything else, however deep or broken."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"The body is not valid JSON: {type(error).__name__}.") from None
    if not isinstance(data, dict):
        raise BadPayload(f"The body is a JSON {_kind(data)}: it must be an object.")
    return Fields(data=data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Read one JSON object by field; every reader raises BadPayload with the field's full name."""

    data: Mapping[str, Any]
    name: str = ""

    def get_object(self, key: str) -> "Fields":
        """Read a field that must be an object."""
        value = self.data.get(key)
        if not isinstance(value, dict):
            raise self._wrong(key, "an object")
        return Fields(data=value, name=self._full_name(key))

    def find_object(self, key: str) -> "Fields":
        """Read a field that may be absent or null, as an empty object then."""
        if self.data.get(key) is None:
            return Fields(data={}, name=self._full_name(key))
        return self.get_object(key)

    def get_objects(self, key: str) -> tuple["Fields", ...]:
        """Read a field that must be a list of objects."""
        values = self.data.get(key)
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise self._wrong(key, "a list of objects")
        name = self._full_name(key)
        return tuple(Fields(data=value, name=f"{name}[{place}]") for place, value in enumerate(values))

    def get_text(self, key: str) -> str:
        """Read a field that must be text that a database can store."""
        value = self.data.get(key)
        if not isinstance(value, str):
            raise self._wrong(key, "a string")
        # Postgres stores no NUL, and a lone surrogate cannot be encoded at all.
        if _UNSTORABLE.search(value):
            raise BadPayload(f"The field {self._full_name(key)} contains a character that text cannot have.")
        return value

    def find_text(self, key: str) -> str:
        """Read a text that may be absent or null, as "" then."""
        return "" if self.data.get(key) is None else self.get_text(key)

    def find_prose(self, key: str) -> str:
        """Read what people wrote: absent is "", and what no text can hold is replaced, not refused."""
        value = self.data.get(key)
        if not isinstance(value, str):
            return ""
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()

    def get_number(self, key: str) -> int:
        """Read a whole number from 0 on that fits an integer column."""
        value = self._whole_number(key)
        if value > MAX_NUMBER:
            raise self._wrong(key, f"a whole number up to {MAX_NUMBER}")
        return value

    def find_number(self, key: str) -> int | None:
        """Read a number that may be absent or null."""
        return None if self.data.get(key) is None else self.get_number(key)

    def get_id(self, key: str) -> str:
        """Read a numeric id as text: ids outgrew 32 bits long ago and nobody calculates with them."""
        return str(self._whole_number(key))

    def get_sha(self, key: str) -> str:
        """Read a full commit id, which later becomes part of addresses."""
        value = self.get_text(key)
        if _SHA.fullmatch(value) is None:
            raise self._wrong(key, "a full commit id")
        return value

    def get_flag(self, key: str) -> bool:
        """Read a boolean; absent or null is False."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return bool(value)

    def has(self, key: str) -> bool:
        """Tell whether the field is there and not null."""
        return self.data.get(key) is not None

    def _whole_number(self, key: str) -> int:
        value = self.data.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._wrong(key, "a whole number")
        return value

    def _full_name(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def _wrong(self, key: str, expected: str) -> BadPayload:
        if key not in self.data:
            return BadPayload(f"The field {self._full_name(key)} is missing: it must be {expected}.")
        return BadPayload(
            f"The field {self._full_name(key)} is a {_kind(self.data[key])} that does not fit: "
            f"it must be {expected}."
        )


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {dict: "object", list: "list", str: "string", bool: "boolean", int: "number", float: "number"}
    return kinds.get(type(value), type(value).__name__)
