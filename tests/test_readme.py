"""README, CONTRIBUTING and docs/: examples run, commands exist, numbers and names are current."""

import ast
import inspect
import json
import re
import sys
import tomllib
from dataclasses import asdict, fields
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import CHECKOUT
from rich.console import Console
from shell_blocks import recorded_commands as recorded
from tiny_size import TINY_SIZE

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.images import image_set
from nasbench1shot1.images.store import Columns
from nasbench1shot1.nasbench101 import training_options as cell_scales
from nasbench1shot1.one_shot_search import options
from nasbench1shot1.one_shot_search.record import FIELDS
from nasbench1shot1.supernets.presets import PRESETS, Preset

BLOCK = re.compile(r"^( *)(`{3,}|~{3,})([^\n]*)\n(.*?)^ *\2 *$", re.MULTILINE | re.DOTALL)
OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
PAGES = (*OUTSIDE, *sorted(path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "docs").rglob("*.md")))
FOLLOWED = {
    "docs/api.md": "tests/api/test_api_clients.py",
    "docs/own_benchmark.md": "tests/conformance/test_own_benchmark.py",
    "docs/own_optimizer.md": "tests/conformance/test_own_optimizer.py",
    "docs/own_space.md": "tests/conformance/test_own_space.py",
    "docs/nasbench201_statistics.md": "tests/experiments/test_nasbench201_statistics_command.py",
    "docs/own_table.md": "tests/tables/test_own_table_page.py",
    **{page: "tests/test_recipes.py" for page in PAGES if page.startswith("docs/recipes/")},
}
"""Pages whose examples need a folder of their own, and the modules that follow them."""
PROGRAMS = {"make", "mktemp", "mv", "nb1shot1", "nice", "pip", "pytest", "python", "python3"}
PROGRAMS |= {"dask", "optuna-dashboard", "tensorboard"}  # of other packages
NOT_RUN = {
    "docs/figures.md": "needs tueplots, which is not installed",
    "docs/jobs.md": "needs Slurm; tests/jobs/test_slurm.py runs it",
    "docs/official_archives.md": "needs the archives",
    "docs/official_data.md": "needs the official files",
    "docs/tuning.md": "takes minutes",
    "docs/tuning_analyses.md": "needs studies of several budgets",
}
"""Pages with blocks of ```py, which are only checked for names that do not exist."""
TINY = {"images": "cifar10-sample", "epochs": 2, **TINY_SIZE}
TINY_CELL = {"stem_channels": 2, "batch_size": 250}


def text(page: str) -> str:
    return (CHECKOUT / page).read_text()


def blocks(page: str, *languages: str) -> list[str]:
    return [block for _, _, language, block in BLOCK.findall(text(page)) if language in languages]


@pytest.fixture
def tiny(monkeypatch, tmp_path) -> Path:
    """Make the quick scale of the examples tiny, and write to a temporary folder."""
    monkeypatch.setitem(options.SCALES, "quick", TINY)
    monkeypatch.setitem(cell_scales.SCALES, "quick", {**cell_scales.SCALES["quick"], **TINY_CELL})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fewer(columns: Columns, per_class: int) -> Columns:
    """The first images of each class."""
    rows = np.concatenate([np.flatnonzero(columns.labels == label)[:per_class] for label in range(10)])
    return columns._replace(
        images=columns.images[rows], labels=columns.labels[rows], train_index=columns.train_index[rows]
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code_is_in_a_language_that_a_test_runs_or_reads(page):
    languages = [language for _, _, language, _ in BLOCK.findall(text(page))]
    assert set(languages) <= {"bash", "sh", "python", "py", "toml", "text"}
    assert len(languages) == len(re.findall(r"^ *(`{3,}|~{3,})", text(page), re.MULTILINE)) / 2
    assert ("py" in languages) == (page in NOT_RUN)
    assert page in FOLLOWED or "toml" not in languages
    for block in blocks(page, "toml"):
        tomllib.loads(block)


@pytest.mark.parametrize("page", FOLLOWED)
def test_the_modules_that_follow_pages_read_them(page):
    module = text(FOLLOWED[page])
    assert Path(page).name in module or f'followed("{Path(page).stem}"' in module or page.endswith("index.md")


@pytest.mark.filterwarnings("ignore:the table nb201.* does not have complete trainings")
@pytest.mark.parametrize("page", [page for page in PAGES if page not in FOLLOWED and blocks(page, "python")])
def test_python_examples_run(page, tiny, monkeypatch):
    monkeypatch.setenv("GOMP_SPINCOUNT", "100")  # otherwise, an example would set it
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=lambda **_: None, log=lambda *_, **__: None))
    if page == "docs/adapters.md":  # loads a package of the checkout
        (tiny / "examples").symlink_to(CHECKOUT / "examples")
    if page == "docs/training.md":  # trains on all images
        few = fewer(image_set.read_sample()[0], 80), "0" * 64
        monkeypatch.setattr(image_set, "read_sample", lambda: few)
    if page == "docs/spaces.md":  # draws the architectures of a search
        nb.search("darts", scale="quick", out="runs/darts-s1-0", console=Console(quiet=True))
    if page == "docs/black_box.md":  # imports the class of an earlier example
        (lucky,) = [block for block in blocks(page, "python") if "class Lucky" in block]
        (tiny / "lucky.py").write_text(lucky)
        monkeypatch.syspath_prepend(tiny)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), names)  # a later example may build on an earlier one


@pytest.mark.parametrize("page", NOT_RUN)
def test_examples_that_are_not_run_use_names_and_arguments_that_exist(page):
    found = 0
    for tree in map(ast.parse, blocks(page, "py")):
        known: dict[str, object] = {"nb": nb}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("nasbench1shot1"):
                known |= {name.name: getattr(import_module(str(node.module)), name.name) for name in node.names}
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            head, *rest = ast.unparse(call.func).split(".")
            if head in known and all(name.isidentifier() for name in rest):
                named = {word.arg: None for word in call.keywords if word.arg}
                function = reduce(getattr, rest, known[head])
                inspect.signature(function).bind(*call.args, **named)
                found += 1
    assert found > 0 or page in ("docs/jobs.md", "docs/official_archives.md")  # only other packages, or methods


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


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash", "sh")])
def test_every_command_shown_exists_with_its_options(page, monkeypatch, tmp_path):
    script = "\n".join(blocks(page, "bash", "sh"))
    shown = [words[3:] if words[0] == "nice" else words for words in recorded(script, tmp_path)]
    assert shown and {words[0] for words in shown} <= PROGRAMS
    for name in ("architectures.txt", "fifty.txt"):  # lists, which determine the options of `train --list`
        (tmp_path / name).write_text("nb201:|none~0|+|none~0|none~1|+|none~0|none~1|nor_conv_1x1~2|")
    monkeypatch.chdir(tmp_path)
    parsed: list[object] = []
    for command in cli.COMMANDS.values():
        module, _, name = command.target.partition(":")
        options = getattr(import_module(f"nasbench1shot1.commands.{module}"), name)
        monkeypatch.setattr(options, "run", lambda self: parsed.append(self))
    of_package = [words[1:] for words in shown if words[0] == "nb1shot1" and page != "docs/own_optimizer.md"]
    for words in of_package:
        cli.main(words)
    assert len(parsed) == len(of_package)
    for program, *words in shown:
        if program == "make":
            assert re.search(rf"^{words[0]}:", text("Makefile"), re.MULTILINE)
        elif program == "pytest":
            assert all((CHECKOUT / word).is_file() for word in words if not word.startswith("-"))
        elif program == "python" and words[0] == "-":
            compile(words[1], page, "exec")
        elif program == "python" and words[0] != "-m":
            assert_script_has(words, page)


def assert_script_has(words: list[str], page: str) -> None:
    """Assert that a script of the checkout, or one that the page shows, exists and names these options."""
    script, *arguments = words
    if page not in FOLLOWED:
        code = text(script) if script.startswith("benchmarks/") else "".join(blocks(page, "python", "py"))
        assert [word for word in arguments if word.startswith("--") and f'"{word}"' not in code] == []
        assert script.startswith("benchmarks/") or f"`python {script}`" in code


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
