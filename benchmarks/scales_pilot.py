"""Pilot study of the scales: compare search settings that take from one CPU minute to an hour.

    python benchmarks/scales_pilot.py run FOLDER            # one search at a time; run it again to continue
    python benchmarks/scales_pilot.py collect FOLDER --out benchmarks/results/scales_pilot.json
    python benchmarks/scales_pilot.py table benchmarks/results/scales_pilot.json
    python benchmarks/scales_pilot.py draw benchmarks/results/scales_pilot.json --out docs/scales/minute.png
    nb1shot1 reproduce figure3 --scale medium --images cifar10-22500 --only s1 --seeds 0-9 --draw-only --out medium \
      --records docs/records/figure3-s1-medium.tar.xz
    python benchmarks/scales_pilot.py against benchmarks/results/scales_pilot.json --medium medium

Every setting is searched with random-ws, DARTS and GDAS. The shared weights of random-ws and DARTS then rank a sample
of 400 architectures; rank correlations are over those whose test errors are measured (70 on s1, all on nb201). The
learning rate of Λ makes steps × rate as large as at full scale. Start the study with `nice -n 19` to keep the machine
usable.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu

import nasbench1shot1 as nb
from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import curve_styles
from nasbench1shot1.display.curves import NOT_NEGATIVE, OF_A_CORRELATION, describe_band, pool_values
from nasbench1shot1.one_shot_search.regret_curve import MEAN_LABEL, MEAN_LOOK, draw_mean_regret

TRAVEL = 3.1  # steps × rate of Λ at full scale: 50 epochs of 209 steps at 3e-4
REAL = ("--images", "{images}", "--images-per-half", "10000")
UNTRAINED = ("--learning-rate", "0", "--learning-rate-min", "0")
SETTINGS = {  # name: (further options, epochs, steps per epoch, learning rate of Λ; None: from TRAVEL)
    "quick-3e-4": ((), 15, 28, 3e-4),
    "quick": ((), 15, 28, None),
    "epochs50": ((), 50, 28, None),
    "batch32": (("--batch-size", "32"), 40, 55, None),
    "channels16": (("--channels", "16"), 30, 28, None),
    "side32": (("--image-side", "32"), 15, 28, None),
    "cells9": (("--cells", "9"), 17, 28, None),
    "cells9-short": (("--cells", "9"), 6, 28, None),
    "untrained": (UNTRAINED, 1, 28, 0.0),
    "untrained-cells9": ((*UNTRAINED, "--cells", "9"), 1, 28, 0.0),
    "real": (REAL, 40, 156, None),
    "real-channels16": ((*REAL, "--channels", "16"), 20, 156, None),
    "real-cells9": ((*REAL, "--cells", "9"), 13, 156, None),
    "real-side32": ((*REAL, "--image-side", "32"), 12, 156, None),
    "real-side32-epochs40": ((*REAL, "--image-side", "32"), 40, 156, None),
    "real-epochs160": (REAL, 160, 156, None),
    "real-network": ((*REAL, "--channels", "16", "--cells", "9"), 40, 156, None),
}
METHODS, RANKED = ("random-ws", "darts", "gdas"), ("random-ws", "darts")
METHODS_IN_WORDS = {"random-ws": "Random WS", "darts": "DARTS", "gdas": "GDAS"}
ORDER = (  # (space, seeds, settings)
    ("s1", range(2), ("untrained", "untrained-cells9")),
    ("s1", range(1), ("real", "real-cells9", "real-channels16", "real-side32")),
    ("nb201", range(1), ("quick", "real")),
    ("s1", range(1, 3), ("real", "real-cells9", "real-channels16", "real-side32")),
    ("s1", range(5), ("quick", "channels16", "cells9-short")),
    ("nb201", range(3), ("quick", "channels16", "cells9-short")),
    ("s3", range(2), ("quick", "channels16", "cells9-short")),
    ("s1", range(3), ("real-epochs160", "real-side32-epochs40", "real-network")),
)
CROWDED = 1.2
"""Regret in percent below which the numbers of settings would cover each other in the picture."""
CLOSE = np.array((0.14, 0.1))
"""Horizontal and vertical distance in inches below which points share a label."""
RANKING = ("--architectures", "400", "--images", "1000", "--threads", "1", "--resamples", "2")


def command(arguments, log):
    """Run `nb1shot1` and return its exit code and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("w") as file:
        ended = subprocess.run(
            [sys.executable, "-m", "nasbench1shot1", *map(str, arguments)], stdout=file, stderr=subprocess.STDOUT
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.returncode, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def search(folder, space, setting, method, seed, images):
    """Run or continue one search, and append its CPU time to cpu.jsonl; return its folder."""
    options, epochs, steps, rate = SETTINGS[setting]
    run = folder / f"{space}-{setting}-{method}-{seed}"
    if (run / "summary.json").exists():
        return run
    arguments = ["search", "--resume", run]
    if not (run / "config.json").exists():
        arguments = ["search", "--scale", "quick", "--optimizer", method, "--space", space, "--seed", seed]
        arguments += ["--epochs", epochs, "--keep-weights-every", epochs, "--threads", 1, "--out", run]
        arguments += [of.format(images=images) for of in options]
        if method != "random-ws":
            arguments += ["--architecture-learning-rate", f"{TRAVEL / (epochs * steps) if rate is None else rate:.2g}"]
    code, seconds = command(arguments, folder / f"{run.name}.log")
    line = {"run": run.name, "code": code, "cpu": round(seconds, 1), "at": time.strftime("%F %T")}
    with (folder / "cpu.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    return run


def run_all(folder, images):
    """Run everything that is missing, seed by seed, so that all settings have equal numbers of seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    for space, seeds, settings in ORDER:
        for seed in seeds:
            for setting in settings:
                for method in METHODS:
                    run = search(folder, space, setting, method, seed, images)
                    if method in RANKED and not (run / "ranking" / "summary.json").exists():
                        command(["correlate", run, *RANKING], folder / f"{run.name}.rank.log")
                    for kept in run.glob("weights/*"):
                        kept.unlink()


def rank_correlations(ranking):
    """Return Spearman correlations with the test errors that the table measured, after the last epoch of a ranking.

    `spearman_error_all` is the correlation with all test errors, most of which are predicted on s1.
    """
    path = ranking / "correlations.csv"
    if not path.exists():
        return {}
    rows = [row for row in csv.DictReader(path.open()) if row["split"] == "test" and row["scope"] == "all"]
    last = {name: max(int(row[name]) for row in rows) for name in ("epoch", "budget")}
    rows = [row for row in rows if all(int(row[name]) == value for name, value in last.items())]
    measured = {row["criterion"]: float(row["value"]) for row in rows if float(row["measured"]) == 1}
    of_all = next(float(row["value"]) for row in rows if row["criterion"] == "spearman_error")  # comes first
    return {**{name: measured[name] for name in ("spearman_error", "spearman_loss")}, "spearman_error_all": of_all}


def collect(folder):
    """Return the regrets of every epoch, the rank correlations and the CPU time of every finished search."""
    cpu = {}
    for line in map(json.loads, (folder / "cpu.jsonl").read_text().splitlines()):
        cpu[line["run"]] = cpu.get(line["run"], 0) + line["cpu"]
    found = {"settings": SETTINGS, "travel": TRAVEL, "runs": {}, "mean_regret": {}, "tables": {}}
    for path in sorted(folder.glob("*/summary.json")):
        run = nb.open_run(path.parent)
        space = run.config["space"]
        found["runs"][path.parent.name] = {
            "regret": [line["test_regret"] for line in run.lines],
            "architecture": run.lines[-1]["architecture"],
            "cpu": cpu.get(path.parent.name),
            **rank_correlations(path.parent / "ranking"),
        }
        found["tables"][space] = run.config["table_id"]
        if space not in found["mean_regret"]:
            table = nb.load_table(run.config["table"])
            test = table.objective(run.config["dataset"]).test
            found["mean_regret"][space] = table.mean_regret(space, dataset=test)
    return found


def interval(values, limits):
    """Return in words a mean with its 95 % confidence interval within limits, or with the range of few seeds."""
    if len(values) < 2:
        return f"{values[0]:.2f}" if values else "–"
    return "{:.2f} [{:.2f}, {:.2f}]".format(*mean_and_interval(values, limits))


def table(collected):
    """Print, for each space and setting, CPU seconds, final test regrets and rank correlations."""
    for space in collected["mean_regret"]:
        mean = 100 * collected["mean_regret"][space]
        print(f"\n{space}, {collected['tables'][space]}; mean regret of the space {mean:.2f} %\n")
        print(
            "| setting | n | CPU s, DARTS | regret, random-ws | DARTS | GDAS "
            "| ρ of errors, random-ws | DARTS | ρ of losses, random-ws | DARTS |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for setting in collected["settings"]:
            runs = {method: of_setting(collected["runs"], space, setting, method) for method in METHODS}
            if not any(runs.values()):
                continue
            final = [interval(final_regrets(runs[method]), NOT_NEGATIVE) for method in METHODS]
            ranked = [
                interval([run[criterion] for run in runs[method] if criterion in run], OF_A_CORRELATION)
                for criterion in ("spearman_error", "spearman_loss")
                for method in RANKED
            ]
            seconds = f"{np.mean([run['cpu'] for run in runs['darts']]):.0f}" if runs["darts"] else "–"
            number = "–".join(str(n) for n in sorted({len(own) for own in runs.values()}))
            cells = [f"`{setting}`", number, seconds, *final, *ranked]
            print(f"| {' | '.join(cells)} |")


def against(collected, medium):
    """Print the results of ten searches at the medium scale on s1, and compare Random WS with the pilot's searches."""
    found = {
        method: [rank_correlations(run) for run in sorted((medium / "s1-rankings" / method).glob("seed-*"))]
        for method in RANKED
    }
    longer = of_setting(collected["runs"], "s1", "real-epochs160", "random-ws")
    [single] = of_setting(collected["runs"], "s1", "real", "random-ws")
    for name, own in {**found, "random-ws, 160 epochs": longer}.items():
        for criterion in ("spearman_error", "spearman_error_all"):
            values = np.array([each[criterion] for each in own])
            print(f"{name}, {criterion}: {values.mean():.2f} ± {values.std(ddof=1):.2f}, up to {values.max():.2f}")
    values, others = ([each["spearman_error"] for each in own] for own in (longer, found["random-ws"]))
    for more in ([], [single["spearman_error"]]):
        print(f"160 epochs against {len(others + more)} searches: p = {mannwhitneyu(values, others + more).pvalue:.3f}")


def draw(collected, space, path):
    """Draw rank correlations and final regrets of the settings of one space over the CPU time of a search."""
    runs = collected["runs"]
    settings = [name for name in collected["settings"] if f"{space}-{name}-random-ws-0" in runs]
    trained = [name for name in settings if not name.startswith("untrained")]
    styles = dict(zip(METHODS, curve_styles(METHODS), strict=True))
    numbers = [len(of_setting(runs, space, name, "random-ws")) for name in trained]
    with Canvas(1, 2, panel=(4.6, 3.6)) as canvas:
        points = {ax: {method: [] for method in METHODS} for ax in canvas.axes}
        for method in METHODS:
            for place, name in enumerate(trained):
                own = of_setting(runs, space, name, method)
                correlations = [run["spearman_error"] for run in own if "spearman_error" in run]
                quantities = ((correlations, OF_A_CORRELATION), (final_regrets(own), NOT_NEGATIVE))
                for ax, (values, limits) in zip(canvas.axes, quantities, strict=True):
                    if not values:
                        continue
                    middle, low, high = mean_and_interval(values, limits)
                    at = np.mean([run["cpu"] for run in own]) / 60
                    whiskers = None if len(values) < 2 else [[middle - low], [high - middle]]
                    colour = styles[method]["color"]
                    ax.errorbar(at, middle, whiskers, fmt="o", color=colour, markersize=4, elinewidth=1)
                    if values is correlations or middle > CROWDED:
                        points[ax][method].append((at, middle, place + 1))
        ranks, regrets = canvas.axes
        for ax in canvas.axes:
            ax.set_xscale("log")
            ax.set_xlabel("CPU minutes of one search")
            ax.xaxis.set_major_formatter("{x:g}")
            ax.grid(alpha=0.25)
        ranks.set_ylabel("ρ of one-shot and measured errors")
        regrets.set_ylabel("final test regret [%]")
        regrets.set_ylim(bottom=0)
        draw_mean_regret(collected["mean_regret"][space], regrets)
        for ax, of_method in points.items():
            for own in of_method.values():
                number_points(ax, own)
        legend = {METHODS_IN_WORDS[name]: {**styles[name], "marker": "o", "linestyle": ""} for name in METHODS}
        legend[MEAN_LABEL] = MEAN_LOOK
        settings_text = ", ".join(f"{place + 1}: {name}" for place, name in enumerate(trained))
        sources = f"ρ: only measured errors; regrets: partly predicted; table {collected['tables'][space]}"
        caption = f"{settings_text}\n{sources}\npoints with regrets up to {CROWDED} % are not numbered"
        shown = f"{describe_band(None, numbers)}; points without a bar: 1 seed"
        drawn = canvas.finish(f"What a minute of a search buys, {space}", caption, legend=legend, band=shown)
        save_figure(drawn, path, data=False)


def number_points(ax, points):
    """Write numbers beside points (x, y, number); close points share a label, so that labels do not overlap."""
    groups = []  # each: the place of its first point in pixels, its first point, its numbers
    for x, y, number in sorted(points):
        place = ax.transData.transform((x, y))
        near = [group for group in groups if np.all(np.abs(place - group[0]) < (CLOSE * ax.figure.dpi))]
        if near:
            near[0][2].append(number)
        else:
            groups.append((place, (x, y), [number]))
    for _, point, numbers in groups:
        text = ", ".join(map(str, sorted(numbers)))
        ax.annotate(text, point, (4, 3), textcoords="offset points", fontsize="x-small")


def of_setting(runs, space, setting, method):
    """Return the runs of a setting with a method."""
    return [run for name, run in runs.items() if name.rsplit("-", 1)[0] == f"{space}-{setting}-{method}"]


def final_regrets(runs):
    """Return the final test regrets of runs in percent."""
    return [100 * run["regret"][-1] for run in runs]


def mean_and_interval(values, limits):
    """Return a mean, and the ends of its 95 % confidence interval within limits, or of the range of few seeds."""
    curve = pool_values([0], np.asarray(values)[:, None], limits=limits)
    return curve.centre[0], curve.low[0], curve.high[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["run", "collect", "table", "draw", "against"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--space", default="s1")
    parser.add_argument("--medium", type=Path, help="folder of figure3 at the medium scale, for `against`")
    parser.add_argument(
        "--images", default="cifar10", help="at least 20,000 images of CIFAR-10: a name or an .npz file"
    )
    options = parser.parse_args()
    if options.task == "run":
        run_all(options.path, options.images)
    elif options.task == "collect":
        options.out.write_text(json.dumps(collect(options.path), separators=(",", ":")) + "\n")
    elif options.task == "against":
        against(json.loads(options.path.read_text()), options.medium)
    elif options.task == "draw":
        draw(json.loads(options.path.read_text()), options.space, options.out)
    else:
        table(json.loads(options.path.read_text()))


if __name__ == "__main__":
    main()
