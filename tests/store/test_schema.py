"""Migrations are tested facts."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from seconder.errors import ConfigurationError
from seconder.store import schema
from seconder.store.engine import make_engine
from seconder.store.tables import metadata

INDEXES = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    "postgresql": "SELECT indexname AS name, indexdef AS sql FROM pg_indexes "
    "WHERE schemaname = 'public' AND tablename <> 'alembic_version'",
}


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


def test_upgrading_an_empty_database_gives_exactly_the_tables_of_the_code(database_url: str, engine: Engine) -> None:
    schema.upgrade(database_url)

    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_the_indexes_of_the_migrations_have_the_conditions_of_the_code(database_url: str, engine: Engine) -> None:
    schema.upgrade(database_url)
    migrated = indexes(engine)
    metadata.drop_all(engine)
    metadata.create_all(engine)

    assert indexes(engine) == migrated


def test_upgrade_says_what_it_applied_and_the_second_time_nothing(database_url: str) -> None:
    assert schema.pending(database_url) == ["0001"]
    assert schema.upgrade(database_url) == ["0001"]
    assert schema.pending(database_url) == []
    assert schema.upgrade(database_url) == []
    assert schema.head() == "0001"


def test_asking_what_is_pending_makes_no_file(tmp_path: Path) -> None:
    schema.pending(f"sqlite:///{tmp_path / 'new.db'}")

    assert list(tmp_path.iterdir()) == []


def test_two_starts_at_once_apply_each_revision_once(database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(schema.upgrade, [database_url] * 4))

    assert sorted(applied) == [[], [], [], ["0001"]]


def test_an_upgrade_that_fails_leaves_nothing_behind(database_url: str, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE trail (id INTEGER)"))  # the last table that the revision makes

    with pytest.raises(Exception, match="already exists"):
        schema.upgrade(database_url)

    assert inspect(engine).get_table_names() == ["trail"]


def test_a_database_of_a_newer_program_is_refused_with_a_sentence(database_url: str, engine: Engine) -> None:
    schema.upgrade(database_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    for refuse in (schema.upgrade, schema.pending):
        with pytest.raises(ConfigurationError, match="9999"):
            refuse(database_url)


def indexes(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        return {row.name: row.sql for row in connection.execute(text(INDEXES[engine.dialect.name]))}
