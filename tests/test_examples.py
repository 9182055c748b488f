"""The notebooks of examples/notebooks/ run from the first cell to the last, in a kernel."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import CHECKOUT
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient
from official_files import made_up, write_file
from small_official import graph_of
from tiny_size import TINY_SIZE

import nasbench1shot1 as nb
from nasbench1shot1.ground.text import percent

EXAMPLES = sorted((CHECKOUT / "examples" / "notebooks").glob("*.ipynb"))
OFFICIAL = "official.tfrecord"
TINY = {"space": "s1", "scale": "quick", "epochs": 1, **TINY_SIZE, "device": "cpu", "threads": 1}
TINY_STUDY = {"space": "nb201", "dataset": "cifar10", "evaluations": 5, "repeats": 6, "seed": 0}
CELL = nb.Cell(
    [[0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]],
    ["input", "conv3x3-bn-relu", "conv1x1-bn-relu", "output"],
)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    """One kernel for all notebooks, because it imports torch; it writes to a temporary folder."""
    folder = tmp_path_factory.mktemp("notebooks")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NB1SHOT1_DATA", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(folder / name.lower()))
        patch.setenv("NASBENCH101_FILE", str(folder / OFFICIAL))
        manager, client = start_new_kernel(cwd=str(folder))
        client.stop_channels()
        yield manager
        manager.shutdown_kernel(now=True)


class WatchedClient(NotebookClient):
    """Stores the intermediate contents of each progress area in the metadata of its cell."""

    def process_message(self, message: dict[str, Any], cell: Any, cell_index: int) -> Any:
        if message["msg_type"] == "update_display_data":
            cell.metadata.setdefault("meantime", []).append(message["content"]["data"]["text/plain"])
        return super().process_message(message, cell, cell_index)


def executed(name: str, kernel: KernelManager, options: Mapping[str, Any] = TINY) -> list[Any]:
    """Run a notebook with tiny runs in a fresh namespace; return its code cells."""
    notebook = nbformat.read(CHECKOUT / "examples" / "notebooks" / f"{name}.ipynb", as_version=4)
    parameters = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))
    parameters.source = f"%reset -f\n{parameters.source}\noptions = {options}"
    client = WatchedClient(notebook, km=kernel, timeout=300)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell: Any) -> list[set[str]]:
    """The media types of every output of a cell."""
    return [set(output.get("data", [output.output_type])) for output in cell.outputs]


def test_the_first_search_has_one_progress_area_and_shows_its_picture(kernel):
    _, search, metrics, drawing, query, again = executed("first_search", kernel)
    progress, record = search.outputs
    rows = progress.data["text/plain"].splitlines()
    assert kinds(search) == [{"text/plain"}, {"text/plain", "text/html"}]
    assert rows[0].startswith("darts on s1") and rows[-1] == "Picture: runs/first-search/regret.png"
    assert sum(row.split()[:1] in (["0"], ["1"]) for row in rows) == 2
    assert any(text.splitlines()[-1].startswith("epoch 0/1") for text in search.metadata.meantime)  # the progress bar
    assert record.data["text/plain"].startswith("Run('runs/first-search': darts on s1, seed 0, epoch 1 of 1, test regr")
    assert '<img src="data:image/png;base64,' in record.data["text/html"]
    regret = percent(nb.open_run(Path(kernel.provisioner.cwd) / "runs/first-search").summary["test_regret"])
    assert re.search(rf">test regret</th>.*?>{regret} \((measured|predicted)\)</td>", record.data["text/html"])
    assert kinds(metrics) == [{"text/plain", "text/html"}]
    assert kinds(drawing) == [{"text/plain", "image/png"}]
    assert "108 epochs on cifar10: validation_accuracy 0." in query.outputs[0].data["text/plain"]
    assert again.outputs[0].data == record.data


def test_a_user_defined_optimizer_is_compared_with_darts(kernel):
    *_, own, darts, comparison = executed("own_optimizer", kernel)
    assert [kinds(cell) for cell in (own, darts)] == [[{"text/plain"}]] * 2
    assert "__main__:NoLooseEnds on s1" in own.outputs[0].data["text/plain"]
    assert kinds(comparison) == [{"text/plain", "image/png"}]


def test_official_data_are_imported_and_used_in_a_search(kernel):
    graphs = [graph_of(cell, 1_000_000) for cell in {CELL: None, **_cells_of("s1")}]
    write_file(Path(kernel.provisioner.cwd) / OFFICIAL, made_up(graphs, epochs=(108,)))
    _, opened, query, best, search = executed("official_data", kernel)
    assert f"{len(graphs):,} rows, epochs (108,), 3 repeats" in opened.outputs[-1].data["text/plain"]
    assert "array([" in query.outputs[0].data["text/plain"]
    assert kinds(best)[-1] == {"text/plain", "image/png"}
    assert "predicted" not in search.outputs[-1].data["text/plain"]


def test_a_comparison_for_a_paper_shows_measured_numbers_and_writes_a_figure(kernel):
    _, random, evolution, comparison, tests, figure = executed("paper_comparison", kernel, TINY_STUDY)
    folder = Path(kernel.provisioner.cwd) / "runs/comparison"
    html = comparison.outputs[0].data["text/html"]
    for cell, name, label in ((random, "random", "random search"), (evolution, "evolution", "regularized evolution")):
        mean = percent(nb.open_run(folder / name).final["test_regret"].mean())
        assert f"{mean} (measured; n = 6)" in cell.outputs[-1].data["text/html"]
        assert re.search(rf">{label}</th>.*?>6</td>.*?>{mean}</td>.*?>measured</td>", html)
    assert "p_holm" in tests.outputs[0].data["text/plain"]
    assert kinds(figure) == [{"text/plain", "image/png"}]
    assert (folder / "comparison.pdf").read_bytes().startswith(b"%PDF")


def _cells_of(space: str) -> dict[nb.Cell, None]:
    return dict.fromkeys(arch.cell for arch in nb.search_space(space).architectures("unique"))  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_notebooks_are_short_and_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(notebook.cells) <= 12
    assert [cell for cell in code if cell.outputs or cell.execution_count] == []
    assert [cell.metadata.get("tags") for cell in code].count(["parameters"]) == 1


def test_every_notebook_is_executed():
    assert [path.stem for path in EXAMPLES] == ["first_search", "official_data", "own_optimizer", "paper_comparison"]
