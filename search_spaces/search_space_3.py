"""Search space 3: five choice blocks; the largest of the three."""

from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

SPACE = ChoiceBlockSpace(
    name="s3",
    id="nb101-s3-v1",
    n_parents=(1, 1, 1, 2, 2, 2),  # of blocks 1 to 5 and the output (NAS-Bench-1Shot1, Table 1)
    paper_counts={"loose_ends": 363648, "no_loose_ends": 137406, "unique": 55854},
    paper_loose_end_rule="read-blocks",
)
