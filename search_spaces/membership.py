"""The check that an architecture belongs to a space of NAS-Bench-101 cells."""

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.nasbench101.architecture import CellArchitecture
from nasbench1shot1.space import SearchSpace


def checked_member(space: SearchSpace, arch: Architecture) -> CellArchitecture:
    """Return the architecture itself if it is in the space; raises InvalidInputError like `SearchSpace.index`."""
    space.index(arch)
    assert isinstance(arch, CellArchitecture)  # index accepts no other
    return arch
