"""Counts what a GPU would do, without a GPU: kernels, bytes and copies to the host, on tensors that hold no data.

Tensors on the host are real, so random draws and sampled architectures are real too. Tensors on the device have a
shape, a type and a device only: with a CUDA build of PyTorch, fake CUDA tensors (`FakeTensorMode`), which compute
forward passes; with any build, tensors on the device "meta", which also compute backward passes.
"""

import math
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import torch
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

NO_LAUNCH = {
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "lift_fresh",
    "_unsafe_view",
    "device",
}
OVERWRITING = {"copy_", "fill_", "zero_"}  # these do not read the tensor that they write
COPYING = {"_to_copy", "copy_"}


class DeviceFault(Exception):
    """A computation that a GPU would refuse, or wait for, as one sentence."""


@dataclass
class Counts:
    """What ran on the device.

    Attributes:
        kernels: operations that launch a kernel, by name. Views and allocations launch none; an operation that
            launches several, as batch-norm does, counts once.
        bytes: read and written if every operation reads each input once and writes each output once.
        host_copies: copies to the host, by operation; each one waits for the device.
        uploads: copies to the device.
    """

    kernels: Counter = field(default_factory=Counter)
    bytes: int = 0
    host_copies: Counter = field(default_factory=Counter)
    uploads: int = 0


class KernelCounter(TorchDispatchMode):
    """Within it, `counts` grows by what is computed on the device; `reset` returns the counts and starts again."""

    def __init__(self, device):
        super().__init__()
        self.device, self.counts = device, Counts()

    def reset(self):
        """Return the counts so far, and start again."""
        counts, self.counts = self.counts, Counts()
        return counts

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, func.overloadpacket.__name__
        tensors = tensors_in((args, kwargs))
        inputs = [tensor for tensor in tensors if tensor.device.type == self.device]
        target = kwargs.get("device")
        if not inputs and (target is None or torch.device(target).type != self.device):
            with unset_fake_temporarily():
                return func(*args, **kwargs)
        if name in COPYING and (copied := self.copied(name, args, kwargs)) is not None:
            return copied
        if torch.Tag.data_dependent_output in func.tags:
            self.counts.host_copies[name] += 1
            return 1.0 if inputs[0].is_floating_point() else 1  # not 0, as somebody may divide by it
        if mixed := [tensor for tensor in tensors if tensor.device.type != self.device and tensor.dim()]:
            shape = tuple(mixed[0].shape)
            raise DeviceFault(f"aten::{name} computes on {self.device} with a tensor {shape} on {mixed[0].device}")
        return self.computed(name, func, inputs, args, kwargs)

    def copied(self, name, args, kwargs):
        """The result of a copy between host and device, or None where both ends are on the device."""
        source = args[1] if name == "copy_" else args[0]
        target = args[0].device if name == "copy_" else torch.device(kwargs.get("device") or source.device)
        if target.type == source.device.type:
            return None
        dtype = kwargs.get("dtype") or source.dtype
        if target.type == "cpu":
            self.counts.host_copies[name] += 1
            with unset_fake_temporarily():
                return args[0].copy_(answer(source)) if name == "copy_" else answer(source).to(dtype)
        self.counts.uploads += 1
        if name == "copy_":
            return args[0]
        return torch.empty_strided(source.shape, source.stride(), dtype=dtype, device=target)

    def computed(self, name, func, inputs, args, kwargs):
        """The result of an operation on the device, counted."""
        if torch.Tag.dynamic_output_shape in func.tags:
            raise DeviceFault(f"aten::{name} waits for the device, as the shape of its result depends on values")
        result = func(*args, **kwargs)
        if launches(func, name):
            read = inputs[1:] if name in OVERWRITING else inputs
            self.counts.kernels[name] += 1
            self.counts.bytes += sum(map(size_in_memory, [*distinct(read), *distinct(tensors_in(result))]))
        return result


def answer(source):
    """What the host reads of a tensor without data: 0, and of weights the one-hot vector of the second entry."""
    values = torch.zeros(source.shape, dtype=source.dtype)
    if source.is_floating_point() and source.dim():
        values[..., min(1, source.shape[-1] - 1)] = 1  # conv3x3 among the published code's operations
    return values


@contextmanager
def dry_device(device):
    """Within it, tensors on `device`, "cuda" or "meta", hold no data; gives the `KernelCounter` that is at work."""
    with ExitStack() as stack:
        if device == "cuda":
            stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
            # As of a real tensor: one copy of all values, not one of each
            stack.enter_context(patch.object(FakeTensor, "tolist", lambda tensor: tensor.cpu().tolist()))
        else:  # nothing can be autocast on "meta"
            stack.enter_context(patch.object(torch, "autocast", lambda *_, **__: ExitStack()))
        yield stack.enter_context(KernelCounter(device))


def launches(func, name):
    is_view = any(value.alias_info and not value.alias_info.is_write for value in func._schema.returns)
    return not is_view and name not in NO_LAUNCH


def tensors_in(values):
    return [value for value in tree_leaves(values) if isinstance(value, torch.Tensor)]


def distinct(tensors):
    return list({id(tensor): tensor for tensor in tensors}.values())


def size_in_memory(tensor):
    """Bytes of a tensor's elements; what is expanded is in memory once."""
    sizes = [size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride]
    return math.prod(sizes) * tensor.element_size()
