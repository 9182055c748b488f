"""Print and draw how searches on nb201 end: regrets and numbers of skip connections (docs/nasbench201_search.md).

    python benchmarks/nasbench201_collapse.py RUN … --out PICTURE.png

Each row of the table is a run: its final test regrets on three data sets, the mean over its last ten epochs, the median
over all epochs of training, and the numbers of skip connections and zeroized edges in its final architecture. The
picture has a column for each optimizer, with regrets and numbers of skip connections over the epochs.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

import nasbench1shot1 as nb
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.one_shot_search.regret_curve import operation_counts

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
NAMES = {"darts": "DARTS", "darts-second-order": "DARTS, second order", "gdas": "GDAS", "setn": "SETN"}
COLLAPSED = 40.07
"""Test regret on CIFAR-10 of the cell with six skip connections, in percent."""
DATA_SETS = ("cifar100", "ImageNet16-120")
LAST = 10


def method(run):
    """Return the optimizer's name in the pages."""
    return NAMES.get(run.config["optimizer"], run.config["optimizer"])


def variant(run):
    """Return the seed, and the options that differ from the default."""
    rate, statistics = run.config.get("architecture_learning_rate", 3e-4), run.config.get("evaluation_batch_norm")
    others = [f"learning rate of Λ {rate:g}"] if rate != 3e-4 else []
    others += [f"{statistics} statistics"] if statistics in ("batch", "running") else []
    return ", ".join([*others, f"seed {run.config['seed']}"])


def name(run):
    return f"{method(run)}, {variant(run)}"


def counts_of(run):
    return operation_counts([[str(arch) for arch in run.architectures]])


def row(run):
    """Print a run's line of the table."""
    frame, counts = run.metrics, counts_of(run)
    last = frame.iloc[-1]
    regrets = [last["test_regret"], *(last[f"{dataset}_test_regret"] for dataset in DATA_SETS)]
    mean, median = frame["test_regret"].tail(LAST).mean(), frame["test_regret"].iloc[1:].median()
    final = counts.iloc[-1]
    print(
        f"| {name(run)} | {len(frame) - 1} | {' | '.join(f'{100 * regret:.2f} %' for regret in regrets)} "
        f"| {100 * mean:.2f} % | {100 * median:.2f} %"
        f" | {final['skip_connect']:.0f} | {final['none']:.0f} | {last['search_seconds']:.0f} s |"
    )


def draw(runs):
    """Return a figure with a column for each optimizer: test regrets, and below them the skip connections."""
    methods = list(dict.fromkeys(method(run) for run in runs))
    figure = Figure(figsize=(1.2 + 2.9 * len(methods), 5.6), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, len(methods), sharex=True, sharey="row", squeeze=False, height_ratios=[3, 1])
    for (above, below), each in zip(axes.T, methods, strict=True):
        for run, color in zip((run for run in runs if method(run) == each), COLOURS, strict=False):
            epochs, percents = run.metrics["epoch"], 100 * run.metrics["test_regret"]
            above.plot(epochs, percents, linewidth=1.5, color=color, label=variant(run))
            below.plot(epochs, counts_of(run)["skip_connect"], linewidth=1.5, drawstyle="steps-mid", color=color)
        above.axhline(COLLAPSED, color="#888888", linewidth=0.8, linestyle="--")
        above.set_yscale("log")
        above.set_ylim(bottom=0.2)
        above.set_title(each, fontsize=10)
        above.legend(frameon=False, fontsize=7, loc="lower left")
        below.set(xlabel="search epoch", ylim=(-0.2, 6.2))
    for ax in axes.flat:
        ax.grid(alpha=0.25)
    axes[0, 0].set_ylabel("test regret on CIFAR-10 [%]")
    axes[0, 0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[1, 0].set_ylabel("skip connections")
    config = runs[0].config
    figure.supxlabel(
        f"nb201, {config['channels']} channels × {config['cells']} cells, {config['weight_images']:,} + "
        f"{config['architecture_images']:,} images; dashed: skip connections on all edges; "
        f"table {config['table_id']}, all values measured",
        fontsize=8,
        color="#444444",
    )
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    runs = [nb.load_run(folder) for folder in options.runs]
    print("| search | epochs | CIFAR-10 | CIFAR-100 | ImageNet16-120 | last 10 | median | skips | zeroized | time |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for run in runs:
        row(run)
    table = nb.load_table("nb201")
    every = [np.mean(table.regret(range(len(table)), dataset=dataset)) for dataset in ("cifar10", *DATA_SETS)]
    print(f"mean over all architectures: {', '.join(f'{100 * mean:.2f} %' for mean in every)}")
    save_figure(draw(runs), Path(options.out))


if __name__ == "__main__":
    main()
