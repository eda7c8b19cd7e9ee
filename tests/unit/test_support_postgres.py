"""The tests' own database fixture."""

import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import OperationalError

from tests.support.postgres import fresh_database


def test_a_test_gets_an_empty_database_that_it_can_write(database_url: str) -> None:
    engine = create_engine(database_url)
    with engine.begin() as connection:
        before = inspect(connection).get_table_names()
        connection.execute(text("CREATE TABLE notes (said TEXT)"))
        connection.execute(text("INSERT INTO notes VALUES ('grüezi')"))
        said = connection.execute(text("SELECT said FROM notes")).scalar_one()
    engine.dispose()

    assert (before, said) == ([], "grüezi")


def test_a_database_is_dropped_even_while_somebody_is_connected() -> None:
    with fresh_database() as url:
        engine = create_engine(url)
        connection = engine.connect()
    with pytest.raises(OperationalError):
        connection.execute(text("SELECT 1"))
    connection.invalidate()
    engine.dispose()
