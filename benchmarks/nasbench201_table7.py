"""Print the columns of NAS-Bench-201's table 7 for rankings of searches on nb201 (docs/nasbench201_search.md).

    python benchmarks/nasbench201_table7.py RANKING …

A ranking is a folder of `nb1shot1 correlate … --budgets 200`; rankings of one run under several batch-norm modes become
one row. Each entry is a Spearman correlation with the validation accuracy after 200 epochs, and its bootstrap interval.
"""

import argparse

import nasbench1shot1 as nb

CRITERIA = {"probability": "spearman_probability", "one-shot error": "spearman_error", "one-shot loss": "spearman_loss"}


def entries(ranking):
    """Return the correlations of a ranking's last epoch by column, as "value [low, high]"."""
    rows = ranking.correlations
    rows = rows[(rows["epoch"] == rows["epoch"].max()) & (rows["split"] == "validation") & (rows["scope"] == "all")]
    found = {}
    for title, criterion in CRITERIA.items():
        column = title if title == "probability" else f"{title}, {ranking.config['batch_norm']}"
        for row in rows[rows["criterion"] == criterion].itertuples():
            found[column] = f"{row.value:.2f} [{row.low:.2f}, {row.high:.2f}]"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rankings", nargs="+")
    table = {}
    for folder in parser.parse_args().rankings:
        ranking = nb.open_run(folder)
        name = f"{ranking.config['optimizer']}, seed {ranking.config['run_seed']}"
        table.setdefault(name, {}).update(entries(ranking))
    columns = sorted(
        {column for row in table.values() for column in row}, key=lambda name: (name != "probability", name)
    )
    print(f"| search | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    for name, row in table.items():
        print(f"| {name} | {' | '.join(row.get(column, '–') for column in columns)} |")


if __name__ == "__main__":
    main()
