"""The work of runs before they start: steps, FLOPs, memory and disk, which do not depend on a machine's speed."""

from dataclasses import dataclass
from typing import NamedTuple

PROCESS = 0.5e9
"""Bytes of a process with PyTorch, without images and networks; measured (benchmarks/README.md, "Plans")."""
WORKSPACE = 1.15
"""Ratio of a process's further memory to that of its tensors, because operations need more internally; measured."""
CONTEXT = 0.5e9
"""Bytes on a GPU that CUDA and its libraries need; an assumption."""


class Flops(NamedTuple):
    """Floating-point operations; a multiply-add counts as two, as in the published throughput of devices.

    Only convolutions and matrix products count. Batch norm, ReLU, pooling and sums take time, but few operations.

    Attributes:
        forward: those of forward passes.
        backward: those that autograd computes.
    """

    forward: float
    backward: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.forward + self.backward


NO_FLOPS = Flops(0.0, 0.0)


@dataclass(frozen=True)
class Work:
    """What a run, or several of them, need.

    Attributes:
        steps: number of training steps of weights.
        flops: all FLOPs.
        alone: those FLOPs that networks need which are trained alone, without shared weights.
        images: number of images on which such networks are trained, counted in every epoch.
        gpu_memory: bytes on the GPU for a run, at most, if it computes on one.
        memory: bytes of main memory for a run, at most, if it computes on a CPU.
        disk: bytes of all files.
    """

    steps: float = 0
    flops: Flops = NO_FLOPS
    alone: float = 0.0
    images: float = 0.0
    gpu_memory: float = 0.0
    memory: float = 0.0
    disk: float = 0.0

    def repeated(self, times: float) -> "Work":
        """Return the work of several such runs, one after another."""
        return Work(
            times * self.steps,
            Flops(times * self.flops.forward, times * self.flops.backward),
            times * self.alone,
            times * self.images,
            self.gpu_memory,
            self.memory,
            times * self.disk,
        )

    def followed_by(self, other: "Work") -> "Work":
        """Return the work of runs, one after the other."""
        return Work(
            self.steps + other.steps,
            Flops(self.flops.forward + other.flops.forward, self.flops.backward + other.flops.backward),
            self.alone + other.alone,
            self.images + other.images,
            max(self.gpu_memory, other.gpu_memory),
            max(self.memory, other.memory),
            self.disk + other.disk,
        )


def memory_needs(network: float, step: float, images: float) -> tuple[float, float]:
    """Return the memory of a run on a GPU and in main memory, in bytes.

    Args:
        network: bytes of weights, gradients or momentum that stay.
        step: bytes of the tensors of a step at one time.
        images: bytes of the images.
    """
    return CONTEXT + images + network + step, PROCESS + images + WORKSPACE * (network + step)
