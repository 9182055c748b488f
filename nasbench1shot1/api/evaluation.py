"""`NASBench.evaluate`: train a model from scratch with this package's trainer."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.files import write_json

if TYPE_CHECKING:
    from nasbench1shot1.cell_training.config import TrainingConfig

METADATA, TRAINING = "metadata.json", "training"
_FIXED = {"lr_decay_method": "COSINE_BY_STEP", "intermediate_evaluations": ["0.5"]}


def evaluate(model_spec: Any, model_dir: Path, config: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train a model from scratch with NAS-Bench-101's training protocol, on CPU or GPU.

    Writes `metadata.json` into `model_dir`, next to the folder `training`, which records the training. If the training
    is interrupted, `nb1shot1 train --resume` continues it from there.

    Args:
        model_spec: a ModelSpec with any number of vertices and edges.
        model_dir: folder for the results, created if necessary; must not contain a training yet.
        config: see `api.config.build_config`. The first entry of `train_data_files` is an image set of this package
            (a name or an `.npz` file); if there is none, the official CIFAR-10 is used. Other data keys are ignored.
        seed: random seed of the training.

    Returns:
        A dictionary with the same keys as the result of `NASBench.query`.

    Raises:
        UserError: the graph has no path from input to output, the trainer does not support a setting, images are
            missing, the folder already contains a training, the loss is NaN or infinite, or the disk is full.
    """
    from nasbench1shot1.cell_training.training import train_and_evaluate

    training = train_and_evaluate(model_spec, training_config(config, seed), model_dir / TRAINING)
    evaluations = [asdict(one) for one in (training.initial, training.halfway, training.final)]
    final = evaluations[-1]
    metadata = {
        "trainable_params": training.trainable_parameters,
        "total_time": final["training_time"],
        "evaluation_results": evaluations,
    }
    write_json(model_dir / METADATA, metadata)
    return {
        "module_adjacency": model_spec.matrix,
        "module_operations": model_spec.ops,
        "trainable_parameters": training.trainable_parameters,
        **{name: final[name] for name in ("training_time", "train_accuracy", "validation_accuracy", "test_accuracy")},
    }


def training_config(config: Mapping[str, Any], seed: int) -> "TrainingConfig":
    """Return the trainer's options that correspond to published settings.

    The published code multiplies the learning rate by the number of accelerator shards: 0.1 × 2 = 0.2.

    Raises InvalidInputError for a setting that the trainer does not support, UserError for a missing one.
    """
    from nasbench1shot1.cell_training.config import training_config as resolved_config

    try:
        for name, only in _FIXED.items():
            if config[name] != only:
                raise InvalidInputError(f"config['{name}'] cannot be {config[name]!r}: this trainer only has {only!r}")
        return resolved_config(
            {
                "epochs": config["train_epochs"],
                "seed": seed,
                "images": str(next(iter(config["train_data_files"]), "cifar10")),
                "stem_channels": config["stem_filter_size"],
                "stacks": config["num_stacks"],
                "cells_per_stack": config["num_modules_per_stack"],
                "batch_size": config["batch_size"],
                "learning_rate": config["learning_rate"] * (config["tpu_num_shards"] if config["use_tpu"] else 1),
                "momentum": config["momentum"],
                "weight_decay": config["weight_decay"],
            }
        )
    except KeyError as error:
        raise UserError(f"config lacks {error}: start from the result of build_config()") from None
