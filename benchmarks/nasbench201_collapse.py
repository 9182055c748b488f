"""Print and draw how searches on nb201 end: regrets and numbers of skip connections (docs/nasbench201_search.md).

    python benchmarks/nasbench201_collapse.py RUN … --out PICTURE.png

Each row of the table is a run: its final test regrets on three data sets, the mean over its last ten epochs, and the
numbers of skip connections and zeroized edges in its final architecture. The picture has a panel of regrets and a panel
of skip connections over the epochs.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import nasbench1shot1 as nb
from nasbench1shot1.files import save_figure
from nasbench1shot1.one_shot_search.operation_counts import operation_counts

COLOURS = ("#1b6ca8", "#e07b39", "#2a9d6f", "#8e5ea2", "#6b6b6b", "#b8860b")
DATA_SETS = ("cifar100", "ImageNet16-120")
LAST = 10


def method(run):
    """Return the optimizer, with the learning rate of Λ if it is not the paper's."""
    rate = run.config.get("architecture_learning_rate", 3e-4)
    return run.config["optimizer"] + ("" if rate == 3e-4 else f" (learning rate of Λ {rate:g})")


def name(run):
    return f"{method(run)}, seed {run.config['seed']}"


def counts_of(run):
    return operation_counts([[str(arch) for arch in run.architectures]])


def row(run):
    """Print a run's line of the table."""
    frame, counts = run.metrics, counts_of(run)
    last = frame.iloc[-1]
    regrets = [last["test_regret"], *(last[f"{dataset}_test_regret"] for dataset in DATA_SETS)]
    mean = frame["test_regret"].tail(LAST).mean()
    final = counts.iloc[-1]
    print(
        f"| {name(run)} | {len(frame) - 1} | {' | '.join(f'{100 * regret:.2f} %' for regret in regrets)} "
        f"| {100 * mean:.2f} % | {final['skip_connect']:.0f} | {final['none']:.0f} | {last['search_seconds']:.0f} s |"
    )


def draw(runs):
    """Return a figure with test regret and skip connections of every run over the epochs."""
    figure = Figure(figsize=(7.2, 5.6), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
    colours = dict(zip(dict.fromkeys(method(run) for run in runs), COLOURS, strict=False))
    for run in runs:
        style = {"color": colours[method(run)], "linestyle": ("-", "--", ":")[run.config["seed"] % 3]}
        epochs = run.metrics["epoch"]
        above.plot(epochs, 100 * run.metrics["test_regret"], linewidth=1.5, label=name(run), **style)
        below.plot(epochs, counts_of(run)["skip_connect"], linewidth=1.5, drawstyle="steps-mid", **style)
    above.set_ylabel("test regret on CIFAR-10 [%]")
    below.set(xlabel="search epoch (0: before training)", ylabel="skip connections", ylim=(-0.2, 6.2))
    for axes in (above, below):
        axes.grid(alpha=0.25)
    above.legend(frameon=False, fontsize=8)
    config = runs[0].config
    above.set_title(
        f"nb201, {config['channels']} channels × {config['cells']} cells, {config['weight_images']:,} + "
        f"{config['architecture_images']:,} images; table {config['table_id']}, measured",
        fontsize=9,
    )
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    runs = [nb.load_run(folder) for folder in options.runs]
    print("| search | epochs | CIFAR-10 | CIFAR-100 | ImageNet16-120 | mean of last 10 | skips | zeroized | time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for run in runs:
        row(run)
    table = nb.load_table("nb201")
    every = [np.mean(table.regret(range(len(table)), dataset=dataset)) for dataset in ("cifar10", *DATA_SETS)]
    print(f"mean over all architectures: {', '.join(f'{100 * mean:.2f} %' for mean in every)}")
    save_figure(draw(runs), Path(options.out))


if __name__ == "__main__":
    main()
