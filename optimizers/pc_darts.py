"""PC-DARTS (Xu et al.: Partial Channel Connections, ICLR 2020; NAS-Bench-1Shot1, algorithm 2). See docs/pc_darts.md."""

from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.space import OneShotSpace


class PCDARTS(DARTS):
    """DARTS whose operations see a quarter of the channels; edge normalisation is part of s1, s2 and s3 (α and γ)."""

    defaults = {"partial_channels": 4}  # noqa: RUF012
    original_defaults = {"epochs": 100}  # noqa: RUF012

    @classmethod
    def check_space(cls, space: OneShotSpace) -> None:
        """Raise InvalidInputError if the cells of a space have only whole mixtures."""
        space.check_cells("partial-channels", "PC-DARTS")
