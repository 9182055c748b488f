"""Arguments of commands that a shell may have changed."""

import re

from nasbench1shot1.errors import InvalidInputError


def check_not_truncated(text: str | None) -> None:
    """Raise InvalidInputError if a text is an architecture that the shell has cut at its first bar."""
    if text is not None and re.fullmatch(r"[\w-]+:[0-9,]*", text):
        raise InvalidInputError(
            f"'{text}' is an incomplete architecture: write it in quotes, because the shell interprets |"
        )
