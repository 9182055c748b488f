"""Sub-graphs of architectures: keys that identify equal computations, and an order that groups them."""

from collections.abc import Iterable, Sequence

from nasbench1shot1.architecture import Architecture

NodeKey = tuple[object, ...]
"""(node, operation, keys of the node's parents); (0,) for the cell's input."""

INPUT_KEY: NodeKey = (0,)


def node_keys(path: Architecture) -> dict[int, NodeKey]:
    """Return the key of every live block; blocks with equal keys compute equal values from equal inputs."""
    keys = {0: INPUT_KEY}
    for node in path.live_blocks:
        parents = tuple(keys[parent] for parent in path.parents[node - 1])
        keys[node] = (node, path.operations[node - 1], parents)
    return keys


def path_key(path: Architecture) -> NodeKey:
    """Return the key of a path; paths with equal keys differ only in loose ends."""
    keys = node_keys(path)
    return tuple(keys[parent] for parent in path.parents[-1])


def ordered(paths: Iterable[Architecture]) -> Sequence[tuple[NodeKey, Architecture]]:
    """Return one path per key, sorted by the keys of its blocks, so that consecutive paths share many sub-graphs."""
    distinct = {path_key(path): path for path in paths}
    return sorted(distinct.items(), key=lambda item: [node_keys(item[1])[node] for node in item[1].live_blocks])
