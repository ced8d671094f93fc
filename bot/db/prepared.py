"""Statements that every webhook runs: compiled once, then given to the driver as they are.

SQLAlchemy's way to run a statement costs several times what the statement itself costs, and the receiver must
take a burst. The statements are still written with SQLAlchemy, so that tables and dialects stay in one place.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase

_Convert = Callable[[Any], Any]


class Prepared:
    """One statement for each dialect; all its parameters are given by name every time."""

    def __init__(self, statements: Mapping[str, UpdateBase], parameters: tuple[str, ...]) -> None:
        self._statements = statements
        self._parameters = parameters
        self._compiled: dict[
            str, tuple[str, tuple[str, ...] | None, dict[str, Any], dict[str, _Convert]]
        ] = {}

    def run(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Run the statement in the connection's transaction and give the driver's cursor, to be closed by its user."""
        name = connection.dialect.name
        if name not in self._compiled:
            self._compiled[name] = self._compile(connection.dialect)
        sql, order, constants, converters = self._compiled[name]
        given = constants | {
            key: converters[key](value) if key in converters and value is not None else _plain(value)
            for key, value in values.items()
        }
        cursor = connection.connection.cursor()
        errors = connection.dialect.loaded_dbapi
        try:
            cursor.execute(sql, given if order is None else [given[key] for key in order])
        except errors.Error as error:
            raise DBAPIError.instance(sql, None, error, errors.Error, hide_parameters=True) from error
        return cursor

    def _compile(
        self, dialect: Dialect
    ) -> tuple[str, tuple[str, ...] | None, dict[str, Any], dict[str, _Convert]]:
        compiled = self._statements[dialect.name].compile(dialect=dialect, column_keys=list(self._parameters))
        converters: dict[str, _Convert] = {}
        for key, bind in compiled.binds.items():
            convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
            if convert is not None:
                converters[key] = convert
        constants = {
            key: _plain(value) for key, value in compiled.params.items() if key not in self._parameters
        }
        order = tuple(compiled.positiontup) if compiled.positional and compiled.positiontup else None
        return str(compiled), order, constants, converters


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
