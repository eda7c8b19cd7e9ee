"""Which tools a rule is about: names, and patterns in which `*` stands for any characters."""

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Tools:
    patterns: tuple[str, ...]

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        parts = (".*".join(re.escape(part) for part in pattern.split("*")) for pattern in self.patterns)
        return re.compile("|".join(f"(?:{part})" for part in parts), re.DOTALL)

    def match(self, tool: str) -> bool:
        """Compared as it is written: capital letters count."""
        return self._expression.fullmatch(tool) is not None

    def cover(self, other: "Tools") -> bool:
        """True only if every tool of the other is one of these; a `*` of the other is met by a `*` of ours alone."""
        return all(self.match(pattern) for pattern in other.patterns)
