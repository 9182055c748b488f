"""FLOPs and memory of PyTorch code, counted while it runs on the CPU: no GPU and no clock is involved."""

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry
from torch.utils.module_tracker import ModuleTracker

from nasbench1shot1.runs.work import Flops


class OperationCounter(TorchDispatchMode):
    """A context that counts the FLOPs inside it, and the memory of the tensors that are created inside it.

    Args:
        watches_memory: whether memory is counted, too, which takes longer.

    Attributes:
        forward, backward: as in `Flops`.
        peak: the most bytes that these tensors occupied at one time. Memory that an operation uses only internally is
            not included.
    """

    def __init__(self, watches_memory: bool = True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.forward = self.backward = self.peak = 0
        self._watches_memory = watches_memory
        self._live, self._storages, self._tracker = 0, set[int](), ModuleTracker()
        self._indivisible = {torch.ops.prim.device.default}

    @property
    def flops(self) -> Flops:
        """The FLOPs so far."""
        return Flops(self.forward, self.backward)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute and count an operation; one that consists of others, such as a dense layer, is divided into them."""
        kwargs, kind = kwargs or {}, func._overloadpacket
        if kind not in flop_registry and func not in self._indivisible:
            with self:
                if (divided := func.decompose(*args, **kwargs)) is not NotImplemented:
                    return divided
            self._indivisible.add(func)
        result = func(*args, **kwargs)
        if kind in flop_registry:
            flops = flop_registry[kind](*args, **kwargs, out_val=result)
            if self._tracker.is_bw:
                self.backward += flops
            else:
                self.forward += flops
        if self._watches_memory:
            self._watch(result, (args, kwargs))
        return result

    def _watch(self, result: Any, given: Any) -> None:
        """Count the memory of new tensors until they are freed; views and in-place results use existing memory."""
        known: set[int] | None = None
        for tensor in _tensors(result):
            storage = tensor.untyped_storage()
            if (key := storage._cdata) in self._storages:
                continue
            known = {of.untyped_storage()._cdata for of in _tensors(given)} if known is None else known
            if key in known:
                continue
            self._storages.add(key)
            self._live += storage.nbytes()
            self.peak = max(self.peak, self._live)
            weakref.finalize(storage, self._free, key, storage.nbytes())

    def _free(self, key: int, size: int) -> None:
        self._storages.discard(key)
        self._live -= size


def count_flops(action: Callable[[], object]) -> Flops:
    """Return the FLOPs of an action, such as a training step."""
    counter = OperationCounter(watches_memory=False)
    with counter:
        action()
    return counter.flops


def size_of(tensors: Iterable[Tensor]) -> int:
    """Return the bytes of the elements of tensors."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _tensors(values: Any) -> Iterator[Tensor]:
    """Yield the tensors in arguments or results, which are nested lists, tuples and dictionaries."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)
    elif isinstance(values, dict):
        yield from _tensors(list(values.values()))
