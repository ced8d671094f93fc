"""Statements that every webhook runs: compiled once, then given to the driver as they are.

SQLAlchemy's way to run a statement costs several times what the statement itself costs, and the receiver must
take a burst. The statements are still written with SQLAlchemy, so that tables and dialects stay in one place.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase

_Convert = Callable[[Any], Any]


class Prepared:
    """One statement for each dialect; all its parameters are given by name every time, enums as their values."""

    def __init__(self, statements: Mapping[str, UpdateBase], parameters: tuple[str, ...]) -> None:
        self._statements = statements
        self._parameters = parameters
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Run the statement in the connection's transaction and give the driver's cursor, to be closed by its user."""
        dialect = connection.dialect
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = self._compile(dialect)
        given = {**compiled.constants, **values}
        for key, convert in compiled.converters:
            if given[key] is not None:
                given[key] = convert(given[key])
        order = compiled.order
        with driver_errors(connection):
            cursor = connection.connection.cursor()
            cursor.execute(compiled.sql, given if order is None else [given[key] for key in order])
        return cursor

    def _compile(self, dialect: Dialect) -> "_Compiled":
        compiled = self._statements[dialect.name].compile(dialect=dialect, column_keys=list(self._parameters))
        converters = {
            key: bind.type.dialect_impl(dialect).bind_processor(dialect)
            for key, bind in compiled.binds.items()
            if key in self._parameters
        }
        constants = {
            key: value.value if isinstance(value, Enum) else value
            for key, value in compiled.params.items()
            if key not in self._parameters
        }
        return _Compiled(
            sql=str(compiled),
            order=tuple(compiled.positiontup) if compiled.positional and compiled.positiontup else None,
            constants=constants,
            converters=tuple((key, convert) for key, convert in converters.items() if convert),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    """A statement as the driver takes it; `order` is None where it takes parameters by name."""

    sql: str
    order: tuple[str, ...] | None
    constants: dict[str, Any]
    converters: tuple[tuple[str, _Convert], ...]


@contextmanager
def driver_errors(connection: Connection) -> Iterator[None]:
    """Raise what the driver raises as SQLAlchemy would have raised it."""
    errors = connection.dialect.loaded_dbapi
    try:
        yield
    except errors.Error as error:
        raise DBAPIError.instance(None, None, error, errors.Error, hide_parameters=True) from error
