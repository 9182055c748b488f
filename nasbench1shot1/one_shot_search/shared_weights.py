"""The shared weights of a search after an epoch, with the search's own split, images and evaluation batch-norm."""

from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.runs.options import required
from nasbench1shot1.supernets.weight_sharing import SharedWeights


def shared_weights(state: SearchState, epoch: int) -> SharedWeights:
    """Return what the methods of a search score architectures with after an epoch (0: before training)."""
    config = state.config
    return SharedWeights(
        state.net,
        state.images,
        state.split,
        batch_norm=required(config.evaluation_batch_norm),
        augmentation=state.augmentation(max(epoch, 1)),
        augments=state.preset.augment_architecture_half,
        seed=config.seed,
        epoch=epoch,
        batch_size=config.batch_size,
        precision=config.precision,
    )
