"""What came out of a run, in a few fields: its summary.json."""

from collections.abc import Mapping
from typing import Any

FROM_CONFIG = ("optimizer", "space", "seed", "scale", "preset", "epochs", "images", "channels", "cells")


def summarise(config: Mapping[str, Any], last_line: Mapping[str, Any], table_id: str) -> dict[str, Any]:
    """The summary of a run from its configuration and the line of its last epoch."""
    return {
        **{name: config[name] for name in FROM_CONFIG},
        "table_id": table_id,
        **{name: value for name, value in last_line.items() if name != "epoch"},
    }
