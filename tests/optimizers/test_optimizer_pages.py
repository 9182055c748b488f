"""Pages of the optimizers: tables agree with the code, and a method is defined by its options."""

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import CHECKOUT
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.one_shot_search.options import SearchConfig, search_options
from nasbench1shot1.scales import SCALES

METHODS = tuple(registry.BUILT_IN["optimizers"])
TABLES = ("| option | `darts` |", "| option | `beta-darts` |")
"""The headers of the tables of methods: those of the benchmarks' papers, and newer ones."""
NEWER = METHODS[METHODS.index("beta-darts") :]
PAGES = {"sdarts-rs": "sdarts.md", "sdarts-adv": "sdarts.md", "drnas-progressive": "drnas.md"}
"""Pages that describe several methods."""
TINY = {"scale": "quick", "epochs": 3, "channels": 4, "cells": 1, "images_per_half": 40, "batch_size": 20, "threads": 1}


def rows(page: str, first: str) -> list[list[str]]:
    """Rows of the table whose header starts with `first`, including the header, without backquotes."""
    lines = (CHECKOUT / "docs" / page).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(first))
    table = [line for line in lines[start:] if not line.startswith("|---")]
    end = next(i for i, line in enumerate(table) if not line.startswith("|"))
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")] for line in table[:end]]


def written(value: object) -> str:
    return {"True": "on", "False": "off", "None": "–"}.get(str(value), str(value))


def resolved(**options: str) -> dict[str, object]:
    config = search_options(options).as_dict()
    batch_norm = {"corrected": "recalibrated", "original": "running"}
    scale = SCALES[str(config["scale"])]
    of_machine = {name: scale.get(name, getattr(SearchConfig, name)) for name in ("table", "threads", "device")}
    return {**config, **of_machine, "evaluation_batch_norm": batch_norm[config["preset"]]}


def test_the_table_of_common_options_is_complete_with_defaults():
    header, *table = rows("optimizers.md", "| option | full |")
    full, quick = resolved(), resolved(scale="quick")
    assert header[:3] == ["option", "full", "quick"]
    assert [row[:3] for row in table] == [
        [name, written(full[name]), written(quick[name])] for name in full if name in SearchConfig.__dataclass_fields__
    ]


def test_the_tables_of_methods_contain_every_method_once():
    assert [name for first in TABLES for name in rows("optimizers.md", first)[0][1:]] == list(METHODS)


@pytest.mark.parametrize("first", TABLES)
def test_the_tables_of_methods_list_all_their_differences(first):
    header, *table = rows("optimizers.md", first)
    both = [[resolved(optimizer=name, preset=preset) for preset in ("corrected", "original")] for name in header[1:]]
    for name, *cells in table:
        assert cells == [_cell(name, *presets) for presets in both], name
    usual = resolved()
    differing = {
        name
        for corrected, original in both
        for name in {*corrected, *original} - {"preset", "evaluation_batch_norm"}
        if corrected.get(name) != usual.get(name) or corrected.get(name) != original.get(name)
    }
    own = {name for name in differing if not name.startswith("controller_")} - {"optimizer"}
    assert {name for name, *_ in table} >= own


def _cell(name: str, corrected: dict[str, object], original: dict[str, object]) -> str:
    if name not in corrected and name not in original:
        return "–"
    values = [written(corrected.get(name)), written(original.get(name))]
    return values[0] if values[0] == values[1] else " / ".join(values)


def test_the_presets_page_lists_all_changes_of_optimizers_by_original():
    _, *table = rows("presets.md", "| `--optimizer` | option |")
    changed = []
    for method in METHODS:
        corrected, original = (resolved(optimizer=method, preset=preset) for preset in ("corrected", "original"))
        for name in {*corrected, *original} - {"preset", "evaluation_batch_norm"}:
            before, after = corrected.get(name), original.get(name)
            if before != after:
                changed.append([method, name, written(before), written(after)])
    assert sorted(row[:4] for row in table) == sorted(changed)


@pytest.mark.parametrize("method", NEWER)
def test_the_page_of_a_newer_method_lists_what_original_changes(method):
    """On all spaces, and on the spaces of NAS-Bench-201 alone."""
    wanted = []
    for space, suffix in (("s1", ""), ("nb201", " (nb201)")):
        both = (resolved(optimizer=method, preset=preset, space=space) for preset in ("corrected", "original"))
        corrected, original = both
        families = registry.optimizer(method).original_family_defaults
        everywhere = {*corrected, *original} - {"preset", "evaluation_batch_norm"}
        for name in everywhere if space == "s1" else families.get("nasbench201", {}):
            before, after = corrected.get(name), original.get(name)
            if before != after:
                wanted.append([f"{name}{suffix}", written(before), written(after)])
    page = PAGES.get(method, f"{method.replace('-', '_')}.md")
    first = f"| option of `{method}` |" if method in PAGES else "| option | `corrected` |"
    has_table = first in (CHECKOUT / "docs" / page).read_text()
    found = [row[:3] for row in rows(page, first)[1:]] if has_table else []
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_page_with_the_same_sections(method):
    page = CHECKOUT / "docs" / PAGES.get(method, f"{method.replace('-', '_')}.md")
    headings = re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)
    assert headings == ["Idea", "The algorithm as run here", "Deviations", "Command", "Measured"]
    assert f"[`{method}`]({page.name})" in (CHECKOUT / "docs" / "optimizers.md").read_text()
    assert f"--optimizer {method} " in page.read_text()


def test_darts_with_the_options_of_gdas_is_gdas(tmp_path: Path):
    options = {
        name: getattr(search_options({"optimizer": "gdas"}).own, name)
        for name in ("relaxation", "temperature_max", "temperature_min", "architecture_grad_clip")
    }
    quiet = Console(quiet=True)
    gdas = nb.search("gdas", out=tmp_path / "gdas", console=quiet, **TINY)
    darts = nb.search("darts", out=tmp_path / "darts", console=quiet, **TINY, **options)
    for key, values in gdas.architecture_parameters.items():
        assert np.array_equal(values, darts.architecture_parameters[key])
    assert [line["train_loss"] for line in gdas.lines] == [line["train_loss"] for line in darts.lines]
