"""The command line: what `seconder` and `python -m seconder.cli` run."""

from seconder.cli.program import main

__all__ = ["main"]
