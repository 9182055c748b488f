"""Sub-graphs of architectures: the keys by which equal computations are found, and an order that puts them together."""

from collections.abc import Iterable, Sequence

from nasbench1shot1.architecture import Architecture

NodeKey = tuple[object, ...]
"""(node, operation, keys of its parents); (0,) is the cell's input."""

INPUT_KEY: NodeKey = (0,)


def node_keys(path: Architecture) -> dict[int, NodeKey]:
    """Return the key of every live block: two blocks with equal keys compute equal values from equal inputs."""
    keys = {0: INPUT_KEY}
    for node in path.live_blocks:
        parents = tuple(keys[parent] for parent in path.parents[node - 1])
        keys[node] = (node, path.operations[node - 1], parents)
    return keys


def path_key(path: Architecture) -> NodeKey:
    """Return the key of a path: paths with equal keys differ in loose ends at most."""
    keys = node_keys(path)
    return tuple(keys[parent] for parent in path.parents[-1])


def ordered(paths: Iterable[Architecture]) -> Sequence[tuple[NodeKey, Architecture]]:
    """Return one path for every key, ordered depth-first by their blocks, so that neighbours have most in common."""
    distinct = {path_key(path): path for path in paths}
    return sorted(distinct.items(), key=lambda item: [node_keys(item[1])[node] for node in item[1].live_blocks])
