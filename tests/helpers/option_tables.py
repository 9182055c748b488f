"""Tables of options in the documentation, from the code: `python -m tests.helpers.option_tables` rewrites them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from nasbench1shot1 import registry
from nasbench1shot1.one_shot_search.options import SearchConfig, defaults, search_options
from nasbench1shot1.runs.options import option_names
from nasbench1shot1.scales import SCALES

CHECKOUT = Path(__file__).parents[2]
METHODS = tuple(registry.BUILT_IN["optimizers"])
NEWER = METHODS[METHODS.index("beta-darts") :]
OLDER = METHODS[: METHODS.index("beta-darts")]
FOR_CELLS = tuple(name for name in METHODS if name not in ("tas", "fbnetv2", "tunas"))
"""Methods that search cells; the others search only the widths of layers."""
PRESETS = ("corrected", "original")
ABSENT, UNSET = "–", "unset"


def written(value: object) -> str:
    return {"True": "on", "False": "off", "None": ABSENT}.get(str(value), str(value))


def resolved(**options: str) -> dict[str, object]:
    """All options of a search, without what only this machine decides.

    Defaults that other options disable are as they would be with these options.
    """
    config = search_options(options).as_dict()
    name, space, preset = (str(config[name]) for name in ("optimizer", "space", "preset"))
    method, scale = registry.optimizer(name), SCALES[str(config["scale"])]
    usual = defaults(method, registry.one_shot(registry.search_space(space)), str(config["scale"]), preset)
    config |= {option: value for option, value in usual.items() if option in option_names(method.Hyperparameters)}
    of_machine = {name: scale.get(name, getattr(SearchConfig, name)) for name in ("table", "threads", "device")}
    return {**config, **of_machine}


def changes(method: str, space: str) -> list[tuple[str, str, str]]:
    """Every option that preset original changes for a method, with both values."""
    corrected, original = (resolved(optimizer=method, preset=preset, space=space) for preset in PRESETS)
    names = [name for name in (*corrected, *original) if name != "preset"]
    pairs = {name: (written(corrected.get(name)), written(original.get(name))) for name in names}
    return [(name, *values) for name, values in pairs.items() if values[0] != values[1]]


def method_rows(names: Sequence[str]) -> list[list[str]]:
    """The table of methods: every option of their own, and common ones in which they differ from DARTS."""
    both = {name: [resolved(optimizer=name, preset=preset) for preset in PRESETS] for name in names}
    usual = [resolved(preset=preset) for preset in PRESETS]
    own = {name: option_names(registry.optimizer(name).Hyperparameters) for name in names}
    common = [
        option
        for option in option_names(SearchConfig)
        if option not in ("optimizer", "preset", "evaluation_batch_norm")
        and any(of[option] != base.get(option) for name in names for of, base in _pairs(both[name], usual, option))
    ]
    options = dict.fromkeys([*common, *(option for name in names for option in own[name])])
    rows = [["option", *names]]
    for option in (option for option in options if not option.startswith("controller")):
        known = [name for name in names if option in own[name] or option in common]
        cells = [cell(both[name], option) if name in known else ABSENT for name in names]
        rows.append([option, *cells])
    return rows


def _pairs(found, usual, option):
    return [(of, base) for of, base in zip(found, usual, strict=True) if option in of]


def cell(both: Sequence[dict[str, object]], option: str) -> str:
    """The values of an option of a method under both presets."""
    values = [UNSET if of.get(option) is None else written(of[option]) for of in both]
    return values[0] if values[0] == values[1] else " / ".join(values)


def changes_rows(space: str) -> list[list[str]]:
    """Every option that preset original changes on a space, with the methods for which it does."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for method in FOR_CELLS:
        for change in changes(method, space):
            found.setdefault(change, []).append(method)
    order = list(dict.fromkeys(name for name, *_ in found))
    rows = sorted(found.items(), key=lambda item: (order.index(item[0][0]), -len(item[1])))
    header = ["option", "`corrected`", "`original`", "methods"]
    return [header, *([*change, _names(methods)] for change, methods in rows)]


def _names(methods: Sequence[str]) -> str:
    return "all" if len(methods) == len(FOR_CELLS) else ", ".join(f"`{name}`" for name in methods)


def as_markdown(rows: Sequence[Sequence[str]], coded: int) -> list[str]:
    """Rows as lines of a table; names in the header, from the column `coded` on, and in the first column are code."""
    header, *body = rows
    first = [name if number < coded else f"`{name}`" for number, name in enumerate(header)]
    lines = [first, ["---"] * len(header), *([f"`{row[0]}`", *row[1:]] for row in body)]
    return ["|" + "|".join(line) + "|" if line[0] == "---" else "| " + " | ".join(line) + " |" for line in lines]


TABLES = (
    ("optimizers.md", "| option | `darts` |", lambda: as_markdown(method_rows(OLDER), 1)),
    ("optimizers.md", "| option | `beta-darts` |", lambda: as_markdown(method_rows(NEWER), 1)),
    ("presets.md", "| option | `corrected` | `original` | methods |", lambda: as_markdown(changes_rows("nb201"), 9)),
)
"""Pages, beginnings of the header of each table, and functions that return its lines."""


def replace_table(lines: Iterable[str], header: str, table: Sequence[str]) -> list[str]:
    lines = list(lines)
    start = next(number for number, line in enumerate(lines) if line.startswith(header))
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("|"))
    return [*lines[:start], *table, *lines[end:]]


def main() -> None:
    for page, header, table in TABLES:
        path = CHECKOUT / "docs" / page
        path.write_text("\n".join(replace_table(path.read_text().split("\n"), header, table())))


if __name__ == "__main__":
    main()
