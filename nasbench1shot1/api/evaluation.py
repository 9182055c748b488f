"""`NASBench.evaluate`: a model trained from scratch, through this package's trainer."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.errors import InvalidInputError, UserError
from nasbench1shot1.files import write_json

if TYPE_CHECKING:
    from nasbench1shot1.cell_training.config import TrainingConfig

METADATA, TRAINING = "metadata.json", "training"
_FIXED = {"lr_decay_method": "COSINE_BY_STEP", "intermediate_evaluations": ["0.5"]}


def evaluate(model_spec: Any, model_dir: Path, config: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train a model from scratch by the data set's protocol, on CPU or GPU.

    Writes `metadata.json` into `model_dir`, and beside it `training`, the record of the training, from which
    `nb1shot1 train --resume` goes on if it was stopped.

    Args:
        model_spec: a ModelSpec; vertices and edges are not limited.
        model_dir: is made if need be; must not hold a training yet.
        config: see `api.config.build_config`. Of the keys about data only the first of `train_data_files` counts: an
            image set of this package (a name or an `.npz` file); the official CIFAR-10 if there is none.
        seed: of everything random in the training.

    Returns:
        The same keys as `NASBench.query`.

    Raises:
        UserError: no graph to train, a setting that the trainer does not have, images that are missing, a training
            already there, a loss that is NaN or infinite, a full disk.
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
    """The trainer's options that published settings stand for.

    The learning rate was multiplied by the shards of the accelerator: 0.1 × 2 gives the data set's 0.2.

    Raises InvalidInputError for a setting that the trainer does not have.
    """
    from nasbench1shot1.cell_training.config import training_config as resolved_config

    try:
        for name, only in _FIXED.items():
            if config[name] != only:
                raise InvalidInputError(f"config['{name}'] cannot be {config[name]!r}: this trainer has {only!r} alone")
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
        raise UserError(f"config lacks {error}: begin with what build_config() gives") from None
