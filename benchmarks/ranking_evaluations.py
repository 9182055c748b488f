"""Rank the same architectures by the same weights under several evaluations (docs/ranking.md, "Batch-norm statistics").

    nb1shot1 reproduce figure3 --scale quick --only s1 --seeds 0-9 --out figure3     # searches that keep their weights
    python benchmarks/ranking_evaluations.py rank figure3/s1 --out evaluations       # run it again to continue
    python benchmarks/ranking_evaluations.py collect evaluations                     # writes results/
    python benchmarks/ranking_evaluations.py table                                   # the table of docs/ranking.md

Every search is ranked after its last epoch, with the architectures and the images of `reproduce figure3 --scale quick`.
"""

import argparse
import datetime
import json
from pathlib import Path

import numpy as np
import pandas
from ranking_study import last, rho
from rich.console import Console

import nasbench1shot1 as nb

RESULTS = Path(__file__).parent / "results" / "ranking_evaluations.json"
EVALUATIONS = {
    "recalibrated": {"batch_norm": "recalibrated"},
    "batch": {"batch_norm": "batch"},
    "running": {"batch_norm": "running"},
    "original": {"preset": "original"},
}
METHODS = {"darts": "DARTS", "gdas": "GDAS", "pc-darts": "PC-DARTS", "enas": "ENAS", "random-ws": "Random WS"}
COLUMNS = {
    "rho_error": "ρ of the one-shot error",
    "rho_loss": "ρ of the one-shot loss",
    "mean_error": "mean one-shot error (%)",
}
COMMON = {"architectures": 100, "images": 200, "budgets": (108,), "resamples": 10, "threads": 1, "device": "cpu"}


def rank(searches, out):
    """Rank all searches in a folder under every evaluation; finished rankings are kept."""
    for config in sorted(searches.glob("*/seed-*/config.json")):
        run = nb.open_run(config.parent)
        for name, options in EVALUATIONS.items():
            folder = out / name / config.parts[-3] / config.parts[-2]
            if (folder / "summary.json").exists():
                continue
            try:
                nb.correlate(
                    run, out=folder, epochs=(run.config["epochs"],), console=Console(quiet=True), **COMMON, **options
                )
            except nb.UserError as error:
                if not (folder / "summary.json").exists():
                    raise
                print(f"{folder}: {error}")  # ρ is undefined: `collect` writes null
            print(folder, flush=True)


def collect(folder):
    """Write the correlations of all rankings in a folder of `rank`."""
    table, rows = nb.load_table(), []
    for config in sorted(folder.glob("*/*/seed-*/config.json")):
        ranking = nb.open_run(config.parent)
        if table.id != ranking.config["table_id"]:
            raise SystemExit(f"the rankings used the table {ranking.config['table_id']}: open it with NB1SHOT1_TABLE")
        scores = last(ranking)
        true = 1 - np.asarray(table.query([ranking.space[int(number)] for number in scores.numbers]).test_accuracy)
        values = {"error": rho(scores.errors, true), "loss": rho(scores.losses, true)}
        rows.append(
            {
                "evaluation": config.parts[-4],
                "method": config.parts[-3],
                "seed": ranking.config["run_seed"],
                **{f"rho_{name}": None if np.isnan(value) else round(value, 6) for name, value in values.items()},
                "mean_error": round(float(scores.errors.mean()), 6),
            }
        )
    content = {"date": str(datetime.date.today()), "table": table.id, "rankings": rows}
    RESULTS.write_text(json.dumps(content, indent=1) + "\n")


def show():
    """Print the table of docs/ranking.md: means ± standard deviations (n - 1) over the seeds with a defined value."""
    frame = pandas.DataFrame(json.loads(RESULTS.read_text())["rankings"])
    print("| | statistics |", *(f"{title} |" for title in METHODS.values()))
    print("|---|---|", *("---|" for _ in METHODS))
    for column, title in COLUMNS.items():
        scale, digits = (100, 0) if column == "mean_error" else (1, 2)
        values = (scale * frame.set_index(["evaluation", "method"])[column]).groupby(level=[0, 1])
        found = pandas.DataFrame({"mean": values.mean(), "std": values.std()})
        for evaluation in EVALUATIONS:
            of = [found.loc[evaluation, method] for method in METHODS]
            print(f"| {title} | {evaluation} |", *(f"{x['mean']:.{digits}f} ± {x['std']:.{digits}f} |" for x in of))
    undefined = frame[frame[["rho_error", "rho_loss"]].isna().any(axis=1)]
    print(f"\n{len(frame)} rankings; undefined correlations:", undefined.to_dict("records"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    ranking = commands.add_parser("rank", help="rank searches under every evaluation")
    ranking.add_argument("searches", type=Path, help="the folder of the searches of a space")
    ranking.add_argument("--out", type=Path, required=True, help="the folder of the rankings")
    commands.add_parser("collect", help="write results/").add_argument("folder", type=Path, help="--out of rank")
    commands.add_parser("table", help="print the table")
    options = parser.parse_args()
    if options.command == "rank":
        rank(options.searches, options.out)
    elif options.command == "collect":
        collect(options.folder)
    else:
        show()


if __name__ == "__main__":
    main()
