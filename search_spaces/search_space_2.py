"""Search space 2: four choice blocks; the output has three parents."""

from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

SPACE = ChoiceBlockSpace(
    name="s2",
    id="nb101-s2-v1",
    n_parents=(1, 1, 2, 2, 3),  # of blocks 1 to 4 and the output (NAS-Bench-1Shot1, Table 1)
    paper_counts={"loose_ends": 29160, "no_loose_ends": 12510, "unique": 7773},
    paper_loose_end_rule="encodings",  # row 1 of Table 1 uses a different rule for this space
)
