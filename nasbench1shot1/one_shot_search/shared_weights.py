"""How good discrete architectures are under the supernet's shared weights; what sampling methods select by."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.images.batches import batches
from nasbench1shot1.layers import Groups, grouped_statistics
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Batch, Mixing
from nasbench1shot1.supernet import to_tensors

REFERENCE_IMAGES = 128  # of the weight half, un-augmented: what "recalibrated" statistics are taken from
SCORED_AT_ONCE = 384  # images of one pass beside them; larger ones leave a CPU's cache
LARGEST_ON_GPU = 2**29  # bytes of the widest feature map where several architectures pass together; ten or so are alive


class SharedWeights:
    """The supernet's weights after an epoch, asked about architectures on images of the architecture half.

    Batch-norm's statistics are those of `config.evaluation_batch_norm`: "batch", of the scored images themselves;
    "running", which training over all sampled architectures left; "recalibrated", of images of the weight half passed
    through this very architecture. Nothing of the supernet changes.
    """

    def __init__(self, state: SearchState, epoch: int) -> None:
        self._state, self._epoch = state, epoch
        self._augment = state.augmentation(max(epoch, 1))
        self._drawn = state.generator("scoring", epoch) if state.preset.augment_architecture_half else None

    @cached_property
    def reference(self) -> Tensor:
        """Images of the weight half that recalibrated statistics are taken from; prepared when first asked for."""
        weights = self._state.split.weights
        drawn = self._state.generator("recalibration", self._epoch)
        rows = next(batches(weights, min(REFERENCE_IMAGES, len(weights)), drawn))
        return self._state.images_of(rows, self._augment, None).images

    @property
    def batch_size(self) -> int:
        """Images of a training step, which methods count their images in."""
        return self._state.config.batch_size

    def rows(self, images: int, generator: torch.Generator) -> Tensor:
        """That many rows of the architecture half, or all if it has fewer, drawn without repetition."""
        half = self._state.split.architecture
        return next(batches(half, min(images, len(half)), generator))

    def errors(self, architectures: Sequence[Architecture], rows: Tensor | None = None) -> NDArray[np.float64]:
        """Classification errors (A,), fractions, of A architectures on the same images.

        Args:
            architectures: of the searched space.
            rows: which images of the set; the whole architecture half if not given.
        """
        rows = torch.from_numpy(self._state.split.architecture) if rows is None else rows
        wrong = np.zeros(len(architectures), np.int64)
        with torch.no_grad():
            for part in rows.split(SCORED_AT_ONCE):
                batch = self._state.images_of(part, self._augment, self._drawn)
                wrong += torch.stack(list(self._wrong(architectures, batch))).cpu().numpy()
        return wrong / len(rows)

    def images_passed(self, architectures: int, images: int) -> int:
        """How many images pass through the network where so many architectures are scored on so many images each."""
        if self._state.config.evaluation_batch_norm != "recalibrated":
            return architectures * images
        reference = min(REFERENCE_IMAGES, len(self._state.split.weights))
        return architectures * (images + reference * -(-images // SCORED_AT_ONCE))

    def _wrong(self, architectures: Sequence[Architecture], batch: Batch) -> Iterator[Tensor]:
        """For each architecture the number of wrong answers, ().

        On a CPU one after another, each computing its own path only. On a GPU, where launches cost more than
        arithmetic, many together, with mixing weights per image.
        """
        recalibrated = self._state.config.evaluation_batch_norm == "recalibrated"
        images = torch.cat([self.reference, batch.images]) if recalibrated else batch.images
        groups = Groups(len(images), len(self.reference) if recalibrated else len(images))
        together = self._at_once_on_gpu(images) if images.is_cuda else 1
        with self._statistics(groups):
            for start in range(0, len(architectures), together):
                part = architectures[start : start + together]
                logits = self._logits(part, images).unflatten(0, (len(part), -1))
                answers = logits[:, -len(batch.labels) :].argmax(dim=2)
                yield from (answers != batch.labels).sum(dim=1)

    def _at_once_on_gpu(self, images: Tensor) -> int:
        """How many architectures' maps of these images a GPU shall hold."""
        channels = int(self._state.net.cells[0].out_channels)  # type: ignore[arg-type]  # deeper maps are smaller
        return max(LARGEST_ON_GPU // (4 * channels * images[:, 0].numel()), 1)

    def _logits(self, architectures: Sequence[Architecture], images: Tensor) -> Tensor:
        """(A · N, classes), the N images under each architecture in turn."""
        if len(architectures) == 1:
            return self._state.logits(Mixing(path=architectures[0]), images)
        space = self._state.net.space
        stacked = [to_tensors(space.one_hot(arch), images.device) for arch in architectures]
        weights = {
            key: torch.stack([of[key] for of in stacked]).repeat_interleave(len(images), 0) for key in stacked[0]
        }
        return self._state.logits(Mixing(weights), images.repeat(len(architectures), 1, 1, 1), compiled=False)

    @contextmanager
    def _statistics(self, groups: Groups) -> Iterator[None]:
        net = self._state.net
        was_training = net.training
        net.eval()
        try:
            if self._state.config.evaluation_batch_norm == "running":
                yield
            else:
                with grouped_statistics(net, groups):
                    yield
        finally:
            net.train(was_training)
