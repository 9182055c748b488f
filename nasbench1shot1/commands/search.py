"""`nb1shot1 search`."""

import re
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.search_config import SearchConfig


@dataclass(frozen=True, kw_only=True)
class Search(SearchConfig):
    """Train a supernet, read off the architecture it prefers after every epoch, and look up its regret."""

    out: Path | None = None
    """Folder of the run, which must not exist; runs/OPTIMIZER-SPACE-SEED if not given."""
    resume: Path | None = None
    """Folder of a stopped run to go on with. It stands alone; only --epochs may be given with it, and only grow."""
    seeds: str | None = None
    """Several seeds, one run each, with mean and spread drawn: 0-5, or 1,3,8."""

    def run(self) -> None:
        """Search."""
        from nasbench1shot1.public import SEEDS, search, search_seeds

        given = self._given()
        if self.seeds is not None:
            search_seeds(parse_seeds(self.seeds), out=self.out, resume=self.resume, **given)
        elif self.resume is not None and (self.resume / SEEDS).exists():
            search_seeds([], resume=self.resume, **given)
        else:
            search(out=self.out, resume=self.resume, **given)

    def _given(self) -> dict[str, Any]:
        """The options that were given: those that differ from their defaults, or, on resuming, that were named."""
        named = {argument.removeprefix("--").partition("=")[0].replace("-", "_") for argument in sys.argv[1:]}
        config = {field.name: getattr(self, field.name) for field in fields(SearchConfig)}
        return {name: value for name, value in config.items() if name in named or value != _DEFAULTS[name]}


_DEFAULTS = {field.name: field.default for field in fields(SearchConfig)}


def parse_seeds(text: str) -> list[int]:
    """Seeds from "0-5" or "1,3,8" or both; raises InvalidInputError for anything else."""
    seeds: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())):
            raise InvalidInputError(f"--seeds {text} is not a list of seeds: write them as 0-5 or 1,3,8")
        seeds.extend(range(int(match[1]), int(match[2] or match[1]) + 1))
    if not seeds or len(set(seeds)) != len(seeds):
        raise InvalidInputError(f"--seeds {text} names no seed or one twice: write them as 0-5 or 1,3,8")
    return seeds
