"""GPUs by their published throughput, a CPU core by timed steps, and how long work is expected to take on them.

The expected time is not measured on the GPUs. It divides counted FLOPs by the share of a GPU's published throughput
that published runs of comparable networks reached (`EFFICIENCY`, `TRAINING`). benchmarks/plans.py derives these shares,
and compares the result with every published time; docs/full_scale.md reports the errors.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from nasbench1shot1.ground.errors import InvalidInputError, unknown_name, value_of
from nasbench1shot1.runs.work import Work

EFFICIENCY = 0.024
"""FLOPs per second of a search divided by `GPU.throughput`: an assumption for all GPUs.

The median over the published searches whose code computes what ours computes: DARTS of both orders, GDAS and PC-DARTS
(NAS-Bench-1Shot1, section 5, RTX 2080 Ti), and DARTS of both orders, GDAS and SETN (NAS-Bench-201, table 5, GTX 1080
Ti).
"""
TRAINING = 0.27
SECONDS_PER_IMAGE = 195e-6
"""A network that is trained alone: its share of `GPU.throughput`, and the seconds per image for all other work on the
reference GPU. Fitted to the 15,625 training times in NAS-Bench-201's table (GTX 1080 Ti)."""


@dataclass(frozen=True)
class GPU:
    """A GPU with the maker's published figures.

    Attributes:
        name: the name in options and columns, such as "rtx-2080-ti".
        title: the name on screens.
        teraflops: 10¹² FLOPs per second in float32, without tensor cores.
        bandwidth: 10⁹ bytes per second from its memory.
        memory: 10⁹ bytes of its memory.
        source: the document with these figures.
        tensor_teraflops: 10¹² FLOPs per second of its tensor cores in TF32, dense; None if it does not have them. No
            time depends on it: runs in float32 switch TF32 off, and layers of 16 channels are too small for it.
    """

    name: str
    title: str
    teraflops: float
    bandwidth: float
    memory: float
    source: str
    tensor_teraflops: float | None = None

    @property
    def speed(self) -> float:
        """How many times as fast as the reference GPU: by arithmetic or by memory, whichever gains less."""
        return min(self.teraflops / REFERENCE.teraflops, self.bandwidth / REFERENCE.bandwidth)

    @property
    def throughput(self) -> float:
        """FLOPs per second in float32: the throughput of the reference GPU times the speed."""
        return 1e12 * REFERENCE.teraflops * self.speed

    def seconds(self, work: Work) -> float:
        """Return the expected seconds of runs, one after another."""
        flops = (work.flops.total - work.alone) / EFFICIENCY + work.alone / TRAINING
        return flops / self.throughput + work.images * SECONDS_PER_IMAGE / self.speed

    def fits(self, work: Work) -> bool:
        """Return whether its memory suffices."""
        return work.gpu_memory <= 1e9 * self.memory


REFERENCE = GPU("rtx-2080-ti", "RTX 2080 Ti", 13.4, 616, 11, "NVIDIA Turing architecture whitepaper, 2018")
GPUName = Literal["gtx-1080-ti", "rtx-2080-ti", "t4", "v100", "rtx-3090", "a100", "rtx-4090", "h100", "h200"]
"""A name in `GPUS`; a test compares them."""
GPUS = {
    gpu.name: gpu
    for gpu in (
        GPU("gtx-1080-ti", "GTX 1080 Ti", 11.3, 484, 11, "NVIDIA product page, 2017"),
        REFERENCE,
        GPU("t4", "T4", 8.1, 320, 16, "NVIDIA T4 data sheet, 2019"),
        GPU("v100", "V100", 15.7, 900, 32, "NVIDIA V100 data sheet (SXM2), 2020"),
        GPU("rtx-3090", "RTX 3090", 35.6, 936, 24, "NVIDIA Ampere GA102 whitepaper, 2020", 35.6),
        GPU("a100", "A100", 19.5, 1555, 40, "NVIDIA A100 data sheet (40 GB SXM), 2021", 156),
        GPU("rtx-4090", "RTX 4090", 82.6, 1008, 24, "NVIDIA Ada architecture whitepaper, 2022", 82.6),
        GPU("h100", "H100", 67, 3350, 80, "NVIDIA H100 data sheet (SXM), 2023", 494),
        GPU("h200", "H200", 67, 4800, 141, "NVIDIA H200 data sheet (SXM), 2024", 494),
    )
}
"""All GPUs by name, the oldest first."""
USUAL: tuple[GPUName, ...] = ("rtx-2080-ti", "v100", "a100", "h100")
"""The GPUs of plans that name no others."""


@dataclass(frozen=True)
class Core:
    """A CPU core whose speed was measured.

    Attributes:
        title: the name on screens.
        searching: FLOPs per second of searches and rankings.
        training: FLOPs per second of networks that are trained alone.
    """

    title: str
    searching: float
    training: float

    def seconds(self, work: Work) -> float:
        """Return the expected seconds of runs, one after another, each with one thread."""
        return (work.flops.total - work.alone) / self.searching + work.alone / self.training


CORE = Core("AMD EPYC, 1 core", searching=35.8e9, training=47.8e9)
"""The core of docs/full_scale.md: medians over timed steps at the full scale (benchmarks/plans.py, part `steps`)."""


def gpus(names: Iterable[str]) -> list[GPU]:
    """Return the GPUs with these names; raises InvalidInputError for an unknown or a repeated name."""
    found = []
    for name in names:
        if name not in GPUS:
            raise unknown_name("GPU", name, GPUS)
        if GPUS[name] in found:
            raise InvalidInputError(f"{value_of('gpus')} repeats '{name}': give each GPU once")
        found.append(GPUS[name])
    return found
