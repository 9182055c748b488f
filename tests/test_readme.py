"""README, CONTRIBUTING and docs/: examples run, commands exist, numbers and names are current."""

import json
import re
import shlex
from dataclasses import asdict, fields
from importlib import import_module
from pathlib import Path

import pytest
from conftest import CHECKOUT
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101 import training_options as cell_scales
from nasbench1shot1.one_shot_search import options
from nasbench1shot1.one_shot_search.record import FIELDS
from nasbench1shot1.supernets.presets import PRESETS, Preset

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/adapters.md",
    "docs/presets.md",
    "docs/run_folder.md",
    "docs/optimizers.md",
    "docs/black_box.md",
    "docs/black_box_ranking.md",
    "docs/darts.md",
    "docs/darts_second_order.md",
    "docs/beta_darts.md",
    "docs/darts_pt.md",
    "docs/drnas.md",
    "docs/fair_darts.md",
    "docs/gaea.md",
    "docs/lambda_darts.md",
    "docs/rf_darts.md",
    "docs/sdarts.md",
    "docs/darts_minus.md",
    "docs/oles.md",
    "docs/idarts.md",
    "docs/is_darts.md",
    "docs/sgas.md",
    "docs/spos.md",
    "docs/callbacks.md",
    "docs/claims.md",
    "docs/compare.md",
    "docs/full_scale.md",
    "docs/gdas.md",
    "docs/jobs.md",
    "docs/objective.md",
    "docs/own_loop.md",
    "docs/nasbench201_search.md",
    "docs/notebooks.md",
    "docs/nasbench201_space.md",
    "docs/nasbench201_statistics.md",
    "docs/nasbench201_table.md",
    "docs/pc_darts.md",
    "docs/random_ws.md",
    "docs/ranking.md",
    "docs/ranking_criteria.md",
    "docs/report_page.md",
    "docs/reproduce.md",
    "docs/reproduced.md",
    "docs/reproduced_black_box.md",
    "docs/reproduced_nats_bench.md",
    "docs/setn.md",
    "docs/snas.md",
    "docs/space_statistics.md",
    "docs/training.md",
    "docs/trajectories.md",
    "docs/table.md",
    "docs/tuning.md",
)
TINY = {
    "images": "cifar10-sample",
    "epochs": 2,
    "channels": 2,
    "cells": 1,
    "batch_size": 20,
    "images_per_half": 40,
}

TINY_CELL = {"stem_channels": 2, "batch_size": 250}


def text(page: str) -> str:
    return (CHECKOUT / page).read_text()


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[list[str]]:
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    return [words[1:] for line in lines if (words := shlex.split(line, comments=True))[:1] == ["nb1shot1"]]


@pytest.fixture
def tiny(monkeypatch, tmp_path) -> Path:
    """Make the quick scale of the examples tiny, and write to a temporary folder."""
    monkeypatch.setitem(options.SCALES, "quick", TINY)
    monkeypatch.setitem(cell_scales.SCALES, "quick", {**cell_scales.SCALES["quick"], **TINY_CELL})
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore:the table nb201.* has means over the seeds")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_python_examples_run(page, tiny):
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), names)  # a later example may build on an earlier one


def test_the_custom_loop_of_the_readme_has_at_most_five_lines_and_no_search(tiny):
    own_loop = next(block for block in blocks("README.md", "python") if "discretise" in block)
    lines = [line for line in own_loop.splitlines() if line and not line.startswith("import")]
    names: dict[str, object] = {}
    exec(own_loop, names)
    assert len(lines) <= 5
    assert "search(" not in own_loop
    arch, table = names["arch"], names["table"]
    assert arch in [names["space"][names["space"].index(arch)]]
    assert table.regret(arch) == table.best("s1", "test")[1].test_accuracy - table.query(arch).test_accuracy


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_every_command_shown_exists_with_its_options(page, monkeypatch, tmp_path):
    (tmp_path / "architectures.txt").write_text("nb201:|none~0|+|none~0|none~1|+|none~0|none~1|nor_conv_1x1~2|")
    monkeypatch.chdir(tmp_path)  # the list determines the options of `train --list`
    parsed: list[object] = []
    for command in cli.COMMANDS.values():
        module, _, name = command.target.partition(":")
        options = getattr(import_module(f"nasbench1shot1.commands.{module}"), name)
        monkeypatch.setattr(options, "run", lambda self: parsed.append(self))
    for arguments in commands(page):
        cli.main(arguments)
    assert len(parsed) == len(commands(page)) > 0


def test_the_pages_show_every_command_and_the_readme_every_make_target_that_it_names():
    pages = "".join(text(page) for page in PAGES)
    assert [name for name in cli.COMMANDS if f"nb1shot1 {name}" not in pages] == []
    targets = re.findall(r"^make (\w+)", "\n".join(blocks("README.md", "bash")), re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", text("Makefile"), re.MULTILINE) for target in targets)


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", text(page))
    missing = [link for link in links if "://" not in link and not ((CHECKOUT / page).parent / link).exists()]
    assert not missing


def test_the_readme_is_short():
    assert len(text("README.md").splitlines()) < 200


# The README's numbers about the embedded table agree with the bundled table. ------------------------------------------


def test_the_readme_and_the_page_quote_the_fidelity_of_the_bundled_table():
    meta, table = json.loads((PACKAGE_DATA / "table" / "meta.json").read_text()), nb.load_table()
    fidelity = meta["fidelity"]
    best = fidelity["test_accuracy"]["108"]
    expected = [
        f"all {len(table):,} distinct cells",
        f"accuracies of {best['cells']:,} cells",
        f"rank correlation of {best['spearman']:.3f} ({best['spearman_above_0.9']:.3f} above an accuracy of 0.9)",
        f"median difference of {best['median_absolute_error']:.4f}",
    ]
    readme, page = (" ".join(text(name).split()) for name in ("README.md", "docs/table.md"))
    assert [line for line in expected if line not in readme] == []
    rows = [
        f"{split} accuracy, {epochs} epochs{'**' if split == 'test' else ''} | {of['cells']:,} | {of['spearman']:.3f} |"
        for split in ("validation", "test")
        for epochs, of in fidelity[f"{split}_accuracy"].items()
    ]
    assert len(rows) == 5
    assert [row for row in rows if row not in page] == []
    time = fidelity["training_time"]
    assert f"| {time['spearman']:.3f} | | | | {100 * time['median_relative_error']:.1f} % |" in page


def test_no_paragraph_of_the_readme_has_more_than_five_links():
    paragraphs = re.split(r"\n\n|\n(?=- )", text("README.md"))
    assert max(paragraph.count("](") for paragraph in paragraphs) <= 5


# The pages of docs/ are complete. -------------------------------------------------------------------------------------


def test_the_presets_page_lists_every_switch_with_both_values_and_an_existing_test():
    tests = "".join(path.read_text() for path in (CHECKOUT / "tests").rglob("test_*.py"))
    for switch in (field.name for field in fields(Preset) if field.name != "name"):
        corrected, original = (asdict(PRESETS[name])[switch] for name in ("corrected", "original"))
        values = " | ".join(_written(value) for value in (corrected, original))
        assert f"| `{switch}` | {values} |" in text("docs/presets.md")
    named = re.findall(r"`(test_\w+)`", text("docs/presets.md"))
    assert [name for name in named if f"def {name}(" not in tests] == []


def _written(value: object) -> str:
    if isinstance(value, float):
        return str(value)
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def test_the_run_folder_page_names_every_file_and_field(tiny):
    run = nb.search(scale="quick", keep_weights_every=1, out=tiny / "run", console=Console(quiet=True))
    page = text("docs/run_folder.md")
    written = {path.name for path in run.folder.iterdir() if path.is_file()}
    environment = json.loads((run.folder / "environment.json").read_text())
    names = {*written, *FIELDS, *run.config, *environment, *run.summary}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
    assert [name for name in FIELDS if f"| `{name}` |" not in page] == []


def test_the_notice_names_every_data_file():
    notice = text("NOTICE")
    files = [path.relative_to(PACKAGE_DATA) for path in PACKAGE_DATA.rglob("*") if path.is_file()]
    assert files
    unnamed = [str(path) for path in files if path.parent.name != "table" and str(path) not in notice]
    assert unnamed == []
    for folder in ("table", "nb101_5v/table", "nats_size/table", "nb201/table"):
        assert f"{folder}/" in notice
        meta = json.loads((PACKAGE_DATA / folder / "meta.json").read_text())
        sources = {source for column in meta["columns"].values() for source in column["sources"]}
        assert [source for source in sources if source not in notice] == []


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {nb.__version__}\n" in text("CITATION.cff")
