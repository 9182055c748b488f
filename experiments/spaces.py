"""Checks of the spaces that experiments are given."""

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.registry import search_space
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace


def choice_block_space(space: str | ChoiceBlockSpace) -> ChoiceBlockSpace:
    """Return a space, given by name or as an object; raises InvalidInputError if it is not made of choice blocks."""
    found = search_space(space) if isinstance(space, str) else space
    if not isinstance(found, ChoiceBlockSpace):
        raise InvalidInputError(f"{space} is not made of choice blocks: give s1, s2, s3 or a space of that kind")
    return found
