"""Calls of the official APIs about NAS-Bench-201's architectures; none of them needs results."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from nasbench1shot1.api.edge_strings import net_config, str2lists, str2matrix
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.nasbench201.architecture import SPACE_NAME, EdgeArchitecture
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES, all_operations
from nasbench1shot1.nasbench201.topology import unique_string


class TopologyArchitectures:
    """The base of `topology_api.TopologyAPI`: a sequence of the strings of all 15,625 architectures."""

    full_train_epochs = full_epochs_in_paper = 200
    search_space_name, is_topology, is_size = "topology", True, False
    str2lists = staticmethod(str2lists)
    str2matrix = staticmethod(str2matrix)

    @cached_property
    def meta_archs(self) -> list[str]:
        """The strings of all 15,625 architectures, in the order of their official indices."""
        return [EdgeArchitecture.unchecked(SPACE_NAME, tuple(row)).official for row in all_operations().tolist()]

    @cached_property
    def archstr2index(self) -> dict[str, int]:
        """The official index of each string."""
        return {name: index for index, name in enumerate(self.meta_archs)}

    def __len__(self) -> int:
        return N_ARCHITECTURES

    def __getitem__(self, index: int) -> str:
        return self.meta_archs[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.meta_archs)

    def arch(self, index: int) -> str:
        """Return the string of an index; raises InvalidInputError (a ValueError) for an unknown one."""
        return self.meta_archs[self._known_index(index)]

    def query_index_by_arch(self, arch: Any) -> int:
        """Return the index of an architecture, or -1 if it is unknown.

        Args:
            arch: a string, an index, an `EdgeArchitecture`, or an object whose `tostr` method returns the string.

        Raises InvalidInputError (a ValueError) for an index that does not exist.
        """
        if isinstance(arch, int | np.integer):
            if 0 <= arch < N_ARCHITECTURES:
                return int(arch)
            raise InvalidInputError(f"{arch} is not an official index: give 0 to {N_ARCHITECTURES - 1:,}")
        name = arch.official if isinstance(arch, EdgeArchitecture) else arch
        name = name.tostr() if hasattr(name, "tostr") else name
        return self.archstr2index.get(name, -1) if isinstance(name, str) else -1

    def get_unique_str(self, arch: Any) -> str:
        """Return the string of an architecture's topology, equal for isomorphic architectures.

        Raises InvalidInputError (a ValueError) for an unknown architecture.
        """
        return unique_string(all_operations()[self._known_index(arch)].tolist(), zero_rule=True)

    def get_net_config(self, index: Any, dataset: str) -> dict[str, Any]:
        """Return the configuration from which AutoDL-Projects builds the network: name, C, N, arch_str, num_classes.

        Raises InvalidInputError for an unknown architecture or data set.
        """
        return net_config(self.meta_archs[self._known_index(index)], dataset)

    def _known_index(self, arch: Any) -> int:
        index = self.query_index_by_arch(arch)
        if index < 0:
            raise InvalidInputError(f"{arch!r} is not an architecture of NAS-Bench-201: give a string or an index")
        return index
