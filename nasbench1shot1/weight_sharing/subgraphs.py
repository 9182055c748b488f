"""Sub-graphs of architectures: keys for equal computations, and an order of paths that maximises sharing."""

from collections.abc import Iterable, Sequence

from nasbench1shot1.nasbench101.architecture import CellArchitecture

NodeKey = tuple[object, ...]
"""(node, operation, keys of the node's parents); (0,) for the cell's input."""

INPUT_KEY: NodeKey = (0,)


def node_keys(path: CellArchitecture) -> dict[int, NodeKey]:
    """Return the key of every live block; blocks with equal keys compute equal values from equal inputs."""
    keys = {0: INPUT_KEY}
    for node in path.live_blocks:
        parents = tuple(keys[parent] for parent in path.parents[node - 1])
        keys[node] = (node, path.operations[node - 1], parents)
    return keys


def path_key(path: CellArchitecture) -> NodeKey:
    """Return the key of a path; paths with equal keys differ only in loose ends."""
    keys = node_keys(path)
    return tuple(keys[parent] for parent in path.parents[-1])


def sharing_key(path: CellArchitecture) -> tuple[object, ...]:
    """Return the key by which paths are sorted so that consecutive paths share as many first blocks as possible.

    Paths that differ only in loose ends have equal keys: a loose end counts as if it had its lowest-indexed parents and
    operation 0, as in the kind "no_loose_ends".
    """
    live = {*path.live_blocks, len(path.parents)}
    choices = zip(path.parents, (*path.operations, 0), strict=True)
    return tuple(
        choice if node in live else (tuple(range(len(choice[0]))), 0) for node, choice in enumerate(choices, start=1)
    )


def sort_paths(paths: Iterable[CellArchitecture]) -> Sequence[tuple[NodeKey, CellArchitecture]]:
    """Return one path per key (`path_key`), sorted by `sharing_key`."""
    distinct = {path_key(path): path for path in paths}
    return sorted(distinct.items(), key=lambda item: sharing_key(item[1]))
