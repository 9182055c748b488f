"""Pages of the optimizers: tables agree with the code, and a method is defined by its options."""

import json
import re
from pathlib import Path

import numpy as np
import option_tables
import pandas
import pytest
from conftest import CHECKOUT
from option_tables import FOR_CELLS, METHODS, NEWER, changes, resolved, written
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.display.options import PICTURES
from nasbench1shot1.experiments.reproduction.records import read_packed
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.options import SearchConfig, search_options
from nasbench1shot1.runs.options import option_names

TABLES = ("| option | `darts` |", "| option | `beta-darts` |")
"""The headers of the tables of methods: those of the benchmarks' papers, and newer ones."""
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


def test_the_regrets_of_equal_parameters_and_of_half_of_the_cells_are_those_of_the_table():
    """The numbers of own_optimizer.md, "Does it find good architectures?"."""
    page, table = " ".join((CHECKOUT / "docs" / "own_optimizer.md").read_text().split()), nb.load_table()
    tied, shares = [], []
    for name in ("s1", "s2", "s3"):
        space = nb.search_space(name)
        regret = table.regret(space.discretise({key: np.zeros(shape) for key, shape in space.mixing_shapes().items()}))
        every = np.asarray(table.regret(table.hashes(table.members(name)), name))
        tied.append(f"{100 * regret:.2f} % on {name}")
        shares.append(f"{100 * (every > regret).mean():.0f}")
    assert f"{tied[0]}, {tied[1]} and {tied[2]}, lower than the regrets of {shares[0]}, {shares[1]} and" in page
    assert f"{shares[1]} and {shares[2]} % of the cells" in page
    every = np.asarray(table.regret(table.hashes(table.members("s1")), "s1"))
    assert f"regret below {100 * np.median(every):.1f} %, although the mean is {100 * every.mean():.1f} %" in page
    encodings = np.asarray(table.regret(list(nb.search_space("s1").architectures("loose_ends")), "s1"))
    assert f"draws an encoding of s1 at random has an expected regret of {100 * encodings.mean():.1f} %" in page
    elsewhere = {
        "docs/compare.md": f"{len(encodings):,} encodings of s1 at random therefore has an expected regret of {{}},",
        "README.md": "over all encodings, from which searches choose, it is {}",
    }
    for name, said in elsewhere.items():
        assert said.format(f"{100 * encodings.mean():.2f} %") in " ".join((CHECKOUT / name).read_text().split())


def test_the_spread_of_final_regrets_over_seeds_is_that_of_the_shipped_searches():
    """The numbers of own_optimizer.md, "How many seeds?"."""
    page = " ".join((CHECKOUT / "docs" / "own_optimizer.md").read_text().split())
    runs = read_packed(CHECKOUT / "docs" / "records" / "methods.tar.xz").runs
    final = pandas.Series(
        {tuple(name.split("/")): json.loads(of["summary.json"])["test_regret"] for name, of in runs.items()}
    )
    medians = 100 * final.groupby(level=[0, 1]).std().groupby(level=0).median()
    assert final.groupby(level=[0, 1]).size().eq(10).all() and final.groupby(level=1).size().size == 24
    assert "{:.1f} on s1, {:.1f} on s2 and {:.1f} on s3".format(*medians[["s1", "s2", "s3"]]) in page


def test_the_shortest_searches_of_the_page_are_accepted():
    _, *table = rows("optimizers.md", "| method | shortest search")
    for names, words in table:
        given = words.partition(";")[0].replace("--", "").replace("-", "_").split()
        options = dict(zip(given[::2], map(int, given[1::2]), strict=True))
        for name in names.replace("all others", "rf-darts").split(", "):
            space = "nats-size" if name in ("tas", "fbnetv2", "tunas") else "s1"
            common = {"optimizer": name, "space": space, "scale": "quick", "device": "cpu"}
            begin(search_options({**common, **options}))
            if name != "rf-darts" and name != "oles":
                with pytest.raises(nb.InvalidInputError):
                    begin(search_options({**common, "epochs": 1}))


def test_the_table_of_common_options_is_complete_with_defaults():
    header, *table = rows("optimizers.md", "| option | full |")
    unset = dict.fromkeys(PICTURES)  # some of them are recorded only if they are given
    full, quick = unset | resolved(), unset | resolved(scale="quick")
    names = [name for name in full if name in SearchConfig.__dataclass_fields__ and name not in PICTURES]
    assert header[:3] == ["option", "full", "quick"]
    assert [row[:3] for row in table] == [
        [name, written(full[name]), written(quick[name])] for name in (*names, *PICTURES)
    ]


def test_the_tables_of_methods_contain_every_method_once():
    assert [name for first in TABLES for name in rows("optimizers.md", first)[0][1:]] == list(METHODS)


@pytest.mark.parametrize(("page", "header", "table"), option_tables.TABLES)
def test_tables_from_the_code_are_current(page, header, table):
    """`python -m tests.helpers.option_tables` writes them."""
    lines = (CHECKOUT / "docs" / page).read_text().split("\n")
    assert option_tables.replace_table(lines, header, table()) == lines


def test_the_tables_of_methods_have_every_option_of_every_method():
    for first, names in zip(TABLES, (option_tables.OLDER, NEWER), strict=True):
        header, *table = rows("optimizers.md", first)
        found = {(row[0], name) for row in table for name, cell in zip(header[1:], row[1:], strict=True) if cell != "–"}
        for name in names:
            own = {
                of for of in option_names(registry.optimizer(name).Hyperparameters) if not of.startswith("controller")
            }
            assert {option for option, method in found if method == name} >= own, name


def test_the_table_of_nas_bench_201_has_every_change_of_every_method():
    _, *table = rows("presets.md", "| option | `corrected` | `original` | methods |")
    found = {(*row[:3], name) for row in table for name in (FOR_CELLS if row[3] == "all" else row[3].split(", "))}
    assert found == {(*change, name) for name in FOR_CELLS for change in changes(name, "nb201")}
    assert len({name for *_, name in found}) == len(FOR_CELLS)


def test_the_presets_page_lists_all_changes_of_optimizers_by_original():
    """Evaluation batch-norm is a switch of the preset itself, unless a method sets it."""
    _, *table = rows("presets.md", "| `--optimizer` | option |")
    of_preset = ("evaluation_batch_norm", "recalibrated", "running")
    wanted = [[name, *change] for name in METHODS for change in changes(name, "s1") if change != of_preset]
    assert sorted(row[:4] for row in table) == sorted(wanted)


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
