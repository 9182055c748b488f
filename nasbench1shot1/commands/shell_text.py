"""Arguments of commands that a shell may have changed."""

import re

from nasbench1shot1.ground.errors import InvalidInputError


def check_not_truncated(text: str | None) -> None:
    """Raise InvalidInputError if a text is an architecture that the shell has cut at its first bar."""
    if text is not None and re.fullmatch(r"[\w-]+:[0-9,]*", text):
        raise InvalidInputError(
            f"'{text}' is an incomplete architecture: write it in quotes, because the shell interprets |"
        )


def check_can_be_looked_up(text: str, benchmark: str, advice: str = "") -> None:
    """Raise InvalidInputError, with further advice, for text without an architecture or hash of NAS-Bench-101."""
    from nasbench1shot1.tables.items import is_hash

    if benchmark == "nasbench101" and not {":", "|"} & set(text) and not is_hash(text):
        raise InvalidInputError(
            f"'{text}' cannot be looked up in a table of NAS-Bench-101: give an architecture, such as "
            "'s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3', or a hash of 32 hexadecimal digits"
            f"{advice}"
        )
