"""A small network with the trees' features, fitted to all targets at once; its errors differ from the trees' errors."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from nasbench1shot1.nasbench101.sample import Floats, Matrix

WIDTH, DROPOUT = 256, 0.1
LEARNING_RATE, WEIGHT_DECAY = 2e-3, 0.05
BATCH = 256
HUBER = 0.3
"""Threshold of the Huber loss, in robust standard deviations of a target."""
_CLIP = 6.0


def fit_and_predict(x: Matrix, y: Floats, wanted: Matrix, epochs: int, threads: int) -> Floats:
    """Fit (N, F) features to (N, T) targets; return predictions (M, T) for (M, F) features.

    Results are bit-identical for an equal number of threads.
    """
    spread = x.std(axis=0)
    used = spread > 0
    centre, spread = x.mean(axis=0)[used], spread[used]
    middle = np.median(y, axis=0)
    scale = 1.4826 * np.median(np.abs(y - middle), axis=0)

    def prepared(features: Matrix) -> torch.Tensor:
        return torch.from_numpy(np.clip((features[:, used] - centre) / spread, -_CLIP, _CLIP).astype(np.float32))

    with _reproducible(threads):
        net = _network(int(used.sum()), y.shape[1])
        _fit(net, prepared(x), torch.from_numpy(((y - middle) / scale).astype(np.float32)), epochs)
        with torch.inference_mode():
            predicted = net.eval()(prepared(wanted))
    return np.asarray(predicted.double().numpy() * scale + middle)


def _network(n_features: int, n_targets: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_features, WIDTH),
        nn.SiLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, WIDTH),
        nn.SiLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, n_targets),
    )


def _fit(net: nn.Sequential, x: torch.Tensor, y: torch.Tensor, epochs: int) -> None:
    n_batches = max(len(x) // BATCH, 1)
    optimizer = torch.optim.AdamW(net.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=epochs * n_batches, pct_start=0.1
    )
    for _ in range(epochs):
        for batch in torch.randperm(len(x))[: n_batches * BATCH].chunk(n_batches):
            loss = nn.functional.huber_loss(net(x[batch]), y[batch], delta=HUBER)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


@contextmanager
def _reproducible(threads: int) -> Iterator[None]:
    """Set the seed and the number of threads, and restore both afterwards."""
    before = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
