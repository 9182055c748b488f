"""The result of a search in a few fields: summary.json."""

from collections.abc import Mapping, Sequence
from typing import Any

from nasbench1shot1.one_shot_search.early_stopping import returned_epoch

FROM_CONFIG = ("optimizer", "space", "seed", "scale", "preset", "epochs", "images", "channels", "cells")


def summarise(config: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], table_id: str) -> dict[str, Any]:
    """Return the summary of a finished run from its configuration and the lines of its epochs, starting with epoch 0.

    The result belongs to the last epoch (`final_epoch`) or, if the search stopped early, to the epoch that it went back
    to; `searched_epochs` is the number of epochs searched.
    """
    final = lines[-1]
    if config.get("early_stopping"):
        final = lines[returned_epoch([line["hessian_eigenvalue"] for line in lines]) or -1]
    return {
        **{name: config[name] for name in FROM_CONFIG if name in config},  # recorded loops have only some
        "table_id": table_id,
        "searched_epochs": lines[-1]["epoch"],
        "final_epoch": final["epoch"],
        **{name: value for name, value in final.items() if name != "epoch"},
    }
