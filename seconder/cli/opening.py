"""What a command works with: the settings, with those of a demo beside it, and an open desk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seconder.cli.show import say
from seconder.settings import Settings, read

if TYPE_CHECKING:
    from seconder.desk.desk import Desk


def settings(*, beside: bool = True) -> Settings:
    """The settings; with `beside`, a demo in this folder counts where no database is named, and is told of."""
    found = read(os.environ, Path.cwd() if beside else None)
    if found.demo is not None:
        say(f"using the demo in ./{found.demo.relative_to(Path.cwd())}")
    logs(found)
    return found


def logs(found: Settings) -> None:
    """From now on logs go to stderr as the settings say."""
    from seconder import telemetry

    telemetry.configure(found.log)


@contextmanager
def desk(found: Settings | None = None) -> "Iterator[Desk]":
    """A desk on the migrated database, closed in the end. Raises: ConfigurationError."""
    from seconder import app
    from seconder.desk import upkeep

    found = found or settings()
    with upkeep.reached(found):
        store = app.open_store(found)
        try:
            yield app.make_desk(found, store)
        finally:
            store.close()
