"""The settings in the attribute `config` of `nasbench.api.NASBench`."""

from typing import Any

from nasbench1shot1.nasbench101.cell import MAX_EDGES, MAX_VERTICES, OPERATIONS


def build_config(repeats: int = 3) -> dict[str, Any]:
    """Return a new dictionary with the keys and default values of the published package.

    `module_vertices`, `max_edges` and `available_ops` limit which models are valid, and `num_repeats` limits the
    repeats that `query` draws from. The others describe the training; `evaluate` uses the ones that it needs.

    Args:
        repeats: number of repeats in the table.
    """
    data: dict[str, Any] = {
        "train_data_files": [],
        "valid_data_file": "",
        "test_data_file": "",
        "sample_data_file": "",
        "data_format": "channels_last",
        "num_labels": 10,
    }
    space = {"module_vertices": MAX_VERTICES, "max_edges": MAX_EDGES, "available_ops": list(OPERATIONS)}
    network = {"stem_filter_size": 128, "num_stacks": 3, "num_modules_per_stack": 3}
    training = {
        "batch_size": 256,
        "train_epochs": 108,
        "train_seconds": 4.0 * 60 * 60,
        "learning_rate": 0.1,
        "lr_decay_method": "COSINE_BY_STEP",
        "momentum": 0.9,
        "weight_decay": 1e-4,
        "max_attempts": 5,
        "intermediate_evaluations": ["0.5"],
        "num_repeats": repeats,
    }
    accelerator = {"use_tpu": True, "tpu_iterations_per_loop": 100, "tpu_num_shards": 2}
    return data | space | network | training | accelerator
