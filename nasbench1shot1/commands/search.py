"""`nb1shot1 search`."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from nasbench1shot1.errors import InvalidInputError, UserError
from nasbench1shot1.files import read_json
from nasbench1shot1.one_shot_search.config import SearchConfig, check_options, config_class
from nasbench1shot1.paths import as_path


@dataclass(frozen=True, kw_only=True)
class Search(SearchConfig):
    """Train a supernet, read off the architecture it prefers after every epoch, and look up its regret."""

    out: Path | None = None
    """Folder of the run, which must not exist; runs/OPTIMIZER-SPACE-SEED if not given."""
    resume: Path | None = None
    """Folder of a stopped run to go on with. It stands alone; only --epochs may be given with it, and only grow."""
    seeds: str | None = None
    """Several seeds, one run each, with mean and spread drawn: 0-5, or 1,3,8."""

    named: tyro.conf.Suppress[frozenset[str]] = frozenset()
    """Names of the options that were given, which `cli` fills in; on resuming, these are compared with the run's."""

    @classmethod
    def with_options_of(cls, arguments: Sequence[str]) -> "type[Search]":
        """The command with the options of the optimizer that the arguments name, besides the common ones."""
        from nasbench1shot1.registry import optimizer

        name = _given(arguments, "--optimizer") or _recorded_optimizer(arguments) or cls.optimizer
        method, base = optimizer(name), cls
        flags = [word.removeprefix("--").partition("=")[0] for word in arguments if word.startswith("--")]
        check_options(method, [flag.replace("-", "_") for flag in flags])
        made: Any = config_class(method, base)  # type: ignore[arg-type]
        made.__doc__ = (
            f"{cls.__doc__}\n\nOptions and defaults are those of {name} at the full scale under the preset corrected; "
            "with --optimizer X --help those of X. docs/optimizers.md has all of them side by side."
        )
        found: type[Search] = made
        return found

    def run(self) -> None:
        """Search."""
        from nasbench1shot1.one_shot_search.record import SEEDS
        from nasbench1shot1.one_shot_search.searching import search, search_seeds

        given = {name: getattr(self, name) for name in self.named - OWN}
        if self.seeds is not None and self.resume is not None:
            raise InvalidInputError("--resume goes on with the seeds that were given: leave out --seeds")
        if self.seeds is not None:
            search_seeds(parse_seeds(self.seeds), out=self.out, **given)
        elif self.resume is not None and (self.resume / SEEDS).exists():
            search_seeds([], out=self.out, resume=self.resume, **given)
        else:
            search(out=self.out, resume=self.resume, **given)


def _given(arguments: Sequence[str], option: str) -> str | None:
    """The last value that the arguments give to an option, as `--option value` or `--option=value`."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=False)  # one longer where there is none
    named = [(word.partition("="), after) for word, after in pairs]
    values = [value if equals else after for (name, equals, value), after in named if name == option]
    return values[-1] if values else None


def _recorded_optimizer(arguments: Sequence[str]) -> str | None:
    """The optimizer of the run that --resume names, if there is one."""
    from nasbench1shot1.one_shot_search.record import SEEDS
    from nasbench1shot1.runs.folder import CONFIG

    if not (named := _given(arguments, "--resume")):
        return None
    folder = as_path(named, "--resume")
    with suppress(UserError, OSError, KeyError, TypeError):
        if (folder / SEEDS).is_file():
            return str(read_json(folder / SEEDS)["options"]["optimizer"])
        return str(read_json(folder / CONFIG)["optimizer"])
    return None


OWN = {"out", "resume", "seeds", "help"}
"""Options of the command that are none of a search's configuration."""

MOST_SEEDS = 10_000


def parse_seeds(text: str) -> list[int]:
    """Seeds from "0-5" or "1,3,8" or both; raises InvalidInputError for anything else."""
    seeds: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())):
            raise InvalidInputError(f"--seeds {text} is not a list of seeds: write them as 0-5 or 1,3,8")
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first >= MOST_SEEDS:
            raise InvalidInputError(f"--seeds {text} names more than {MOST_SEEDS:,} seeds: give fewer")
        seeds.extend(range(first, last + 1))
    if not seeds or len(set(seeds)) != len(seeds):
        raise InvalidInputError(f"--seeds {text} names no seed or one twice: write them as 0-5 or 1,3,8")
    return seeds
