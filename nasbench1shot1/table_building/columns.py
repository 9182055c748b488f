"""Descriptions of the embedded table's columns, for `meta.json`."""

from typing import Any

from nasbench1shot1.nasbench101.sample import IMAGES, OFFICIAL_PAIRS, RETRAINED, SAMPLE

FULL_BUDGET = 108


def describe_columns(epochs: list[int], spaces: list[str]) -> dict[str, dict[str, Any]]:
    """Return fidelity ("exact", "measured", "estimated" or "predicted"), sources, method and budgets, by column."""
    exact = {"fidelity": "exact", "sources": []}
    measured = {"fidelity": "measured", "sources": [SAMPLE]}
    return {
        "hash": exact | {"method": "NAS-Bench-101's graph-invariant MD5"},
        "cell": exact | {"method": "pruned, numbered as NAS-Bench-101 first meets it"},
        "trainable_parameters": exact | {"method": "counted on NAS-Bench-101's network"},
        **{f"member_{space}": exact | {"method": f"rows of {space}'s distinct cells"} for space in spaces},
        "validation_accuracy": {
            "fidelity": "estimated",
            "sources": [SAMPLE],
            "method": "regression on log error; measurements, where available, are combined with the prediction by "
            "shrinkage",
            "epochs": epochs,
        },
        "measured_validation_accuracy": measured
        | {"method": "one of three official repeats, NaN where none", "epochs": epochs, "images": IMAGES},
        "test_accuracy": {
            "fidelity": "predicted",
            "sources": [OFFICIAL_PAIRS, RETRAINED, SAMPLE],
            "method": "rising curve of the validation estimate through real validation-test pairs",
            "epochs": [FULL_BUDGET],
        },
        "training_time": {
            "fidelity": "estimated",
            "sources": [SAMPLE, RETRAINED],
            "method": "regression on log seconds at 108 epochs; other budgets scaled by epochs / 108",
            "epochs": epochs,
        },
        "measured_training_time": measured
        | {"method": "of one official repeat, NaN where none", "epochs": [FULL_BUDGET]},
    }
