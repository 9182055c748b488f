"""Numbers of the demo in all pages, and its picture: `python -m tests.helpers.demo_numbers` writes them.

docs/demo has the record of the demo with three seeds. To renew it first, after a change to searches or to the bundled
table: `python -m tests.helpers.demo_numbers --search`.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import nasbench1shot1 as nb

if TYPE_CHECKING:
    from nasbench1shot1.display.axes import Figure

CHECKOUT = Path(__file__).parents[2]
RECORD, PICTURE = CHECKOUT / "docs" / "demo", CHECKOUT / "docs" / "regret.png"
TIMES = CHECKOUT / "benchmarks" / "results" / "scales_pilot.json"
"""CPU seconds of the demo on a fast, idle core, and of searches that differ from it only in the learning rate of Λ. The
machine of docs/demo is slower."""
PAGES = ("README.md", "benchmarks/README.md", "docs/darts.md", "docs/notebooks.md", "docs/scales.md", "Makefile")
KEPT = ("config.json", "environment.json", "metrics.jsonl", "summary.json", "architecture_parameters.npz")
MARKED = re.compile(r"(<!--demo ([\w-]+)-->)(.*?)(<!--/-->)", re.DOTALL)
IN_CODE = (
    (re.compile(r"(about )(\d+(?: to \d+)?)( s on one core)"), "seconds"),
    (re.compile(r"(CPU time on one core \|.*\| )(\d+)( s \|)"), "fewest-seconds"),
    (re.compile(r"(run     # )(Run\('runs/darts-s1-0'.*)(\n)"), "run"),
)
"""Places without markers, in code and in a table: what is before a number, the number, what is after it; its name."""
COLUMNS = ("test_regret", "validation_regret", "one_shot_validation_error", "test_measured")
HEADER = ("| epoch | test regret | validation regret | one-shot validation error |", "|---|---|---|---|")
SHOWN = (0, 1, 2, 5, 10, 15)
"""Epochs of the table."""


def mean_and_deviation(values: np.ndarray, digits: int) -> str:
    """Fractions as a mean ± standard deviation (n − 1) in percent, without a unit."""
    return f"{100 * values.mean():.{digits}f} ± {100 * values.std(ddof=1):.{digits}f}"


def numbers() -> dict[str, str]:
    """The numbers of the demo as they are written, by name."""
    group = nb.load_run(RECORD)
    test, valid, error, measured = (np.array([run.metrics[name] for run in group]) for name in COLUMNS)
    final = [f"{100 * regret:.2f}" for regret in test[:, -1]]
    rows = [
        f"| {epoch} | {mean_and_deviation(test[:, epoch], 2)} | {mean_and_deviation(valid[:, epoch], 2)} "
        f"| {mean_and_deviation(error[:, epoch], 1)} |"
        for epoch in SHOWN
    ]
    searches = json.loads(TIMES.read_text())["runs"]
    times = [run["cpu"] for name, run in searches.items() if name.startswith(("s1-quick-darts", "s1-quick-3e-4-darts"))]
    config, fewest = group[0].config, 5 * round(np.median(times) / 5)
    most = 10 * round(max(run.summary["search_seconds"] for run in group) / 10)
    return {
        "regret": f"{mean_and_deviation(test[:, -1], 1)} %",
        "regret-row": f"{mean_and_deviation(test[:, -1], 2)} | {', '.join(final)}",
        "regrets": f"{', '.join(final[:-1])} and {final[-1]} %",
        "last-epochs": f"{mean_and_deviation(test[:, -5:].mean(1), 2)} %",
        "baseline": f"{100 * nb.load_table('embedded').mean_regret('s1'):.2f} %",
        "error": f"{100 * error[:, -1].mean():.0f} %",
        "errors": f"{mean_and_deviation(error[:, 0], 1)} → {mean_and_deviation(error[:, -1], 1)}",
        "rows": "\n\n" + "\n".join([*HEADER, *rows]) + "\n\n",
        "measured": f"{measured.sum()} of {test.size}",
        "table": f"`{config['table_id']}`",
        "images": f"{config['weight_images']:,} + {config['architecture_images']:,}",
        "fewest-seconds": f"{fewest}",
        "seconds": f"{fewest} to {most}",
        "run": repr(group[0]).replace(str(group[0].folder), "runs/darts-s1-0"),
    }


def renewed(text: str, values: dict[str, str]) -> str:
    """A page with these numbers."""
    for pattern, name in IN_CODE:
        text = pattern.sub(lambda found, value=values[name]: f"{found[1]}{value}{found[3]}", text)
    return MARKED.sub(lambda found: f"{found[1]}{values[found[2]]}{found[4]}", text)


def picture() -> "Figure":
    """The picture that `nb1shot1 search` draws of the demo."""
    from nasbench1shot1.one_shot_search.regret_curve import regret_figure

    group = nb.load_run(RECORD)
    return regret_figure(group.runs, [run.metrics for run in group], nb.load_table("embedded"))


def search() -> None:
    """Record the demo with three seeds."""
    with tempfile.TemporaryDirectory() as folder:
        group = nb.search_seeds([0, 1, 2], scale="quick", threads=1, out=Path(folder) / "demo")
        for run in group:
            (RECORD / run.folder.name).mkdir(parents=True, exist_ok=True)
            for name in KEPT:
                shutil.copy(run.folder / name, RECORD / run.folder.name / name)
        shutil.copy(group.folder / "seeds.json", RECORD / "seeds.json")


def main() -> None:
    if sys.argv[1:] == ["--search"]:
        search()
    from nasbench1shot1.display.axes import save_figure

    values = numbers()
    for page in PAGES:
        path = CHECKOUT / page
        path.write_text(renewed(path.read_text(), values))
    save_figure(picture(), PICTURE, data=False)  # docs/demo has the values


if __name__ == "__main__":
    main()
