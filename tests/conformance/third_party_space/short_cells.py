"""Search spaces outside the package: cells whose first three blocks have one parent each, and tiny cells for tests."""

from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

SPACE = ChoiceBlockSpace(
    name="short",
    id="short-v1",  # a new id for every change of n_parents
    n_parents=(1, 1, 1, 2, 2),  # of blocks 1 to 4 and the output
)

TINY = ChoiceBlockSpace(name="tiny", id="tiny-v1", n_parents=(1, 1, 2))
