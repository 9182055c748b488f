"""Search space 1, the smallest of the three: four choice blocks, with two parents each except block 1."""

from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

SPACE = ChoiceBlockSpace(
    name="s1",
    id="nb101-s1-v1",
    n_parents=(1, 2, 2, 2, 2),  # of blocks 1 to 4 and the output (NAS-Bench-1Shot1, Table 1)
    paper_counts={"loose_ends": 6240, "no_loose_ends": 3702, "unique": 2685},
    paper_loose_end_rule="read-blocks",
)
