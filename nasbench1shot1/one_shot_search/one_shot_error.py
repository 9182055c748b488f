"""The one-shot validation error: how wrong the supernet itself is after an epoch, with which batch-norm statistics."""

from contextlib import nullcontext

import torch
from torch import nn

from nasbench1shot1.images.batches import batches
from nasbench1shot1.layers import Groups, grouped_statistics
from nasbench1shot1.one_shot_search.shared_weights import SharedWeights
from nasbench1shot1.one_shot_search.state import SearchState

EVALUATION_BATCH = 128  # larger ones leave a CPU's cache
RECALIBRATION_BATCHES = 8  # 1,024 images


@torch.no_grad()
def one_shot_error(state: SearchState, epoch: int) -> float:
    """The error of the supernet as searched on the whole architecture half, a fraction.

    Of a method that samples architectures, that of the architecture it chose. Every batch has mixing weights of its
    own: where a method evaluates with noise, it draws anew for each, as the published GDAS does.
    """
    chosen = state.method.evaluation_mixing()
    if chosen.weights is None and chosen.path is not None:
        return float(SharedWeights(state, epoch).errors([chosen.path])[0])
    if state.config.evaluation_batch_norm == "recalibrated":
        recalibrate(state, epoch)
    of_batch = state.config.evaluation_batch_norm == "batch"
    state.net.eval()
    augment = state.augmentation(max(epoch, 1))
    drawn = state.generator("evaluation", epoch) if state.preset.augment_architecture_half else None
    wrong = torch.zeros((), dtype=torch.int64, device=state.images.images.device)
    for rows in torch.from_numpy(state.split.architecture).split(EVALUATION_BATCH):
        batch, mixing = state.images_of(rows, augment, drawn), state.method.evaluation_mixing()
        with grouped_statistics(state.net, Groups(len(rows), len(rows))) if of_batch else nullcontext():
            wrong += (state.logits(mixing, batch.images, not of_batch).argmax(dim=1) != batch.labels).sum()
    return wrong.item() / len(state.split.architecture)


@torch.no_grad()
def recalibrate(state: SearchState, epoch: int) -> None:
    """Replace batch-norm's running statistics by plain means over some batches of the weight half, un-augmented.

    Running statistics with NAS-Bench-101's momentum of 0.003 need hundreds of steps to forget where they began.
    """
    augment = state.augmentation(max(epoch, 1))
    norms = [layer for layer in state.net.modules() if isinstance(layer, nn.BatchNorm2d)]
    momenta = [layer.momentum for layer in norms]
    for layer in norms:
        layer.reset_running_stats()
        layer.momentum = None  # PyTorch's way of asking for a plain mean
    state.net.train()
    size = min(EVALUATION_BATCH, len(state.split.weights))
    shuffled = batches(state.split.weights, size, state.generator("recalibration", epoch), drop_last=True)
    for _, rows in zip(range(RECALIBRATION_BATCHES), shuffled, strict=False):
        pixels, _ = state.images.batch(rows)
        mixing = state.method.evaluation_mixing()
        state.logits(mixing, augment.normalise(pixels), compiled=False)  # a plain mean breaks a compiled graph
    for layer, momentum in zip(norms, momenta, strict=True):
        layer.momentum = momentum
