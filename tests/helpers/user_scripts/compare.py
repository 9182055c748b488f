"""Comparisons and pictures."""

import matplotlib.pyplot as plt

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.comparing import compare_runs

gdas = nb.search_seeds([0, 1], optimizer="gdas", scale="quick", out="runs/gdas")
runs = [gdas, "runs/random", nb.open_run("runs/local-search")]
axes = nb.compare(runs, labels=["GDAS", "random search", "local search"])
axes.figure.savefig("comparison.pdf")
found = compare_runs(runs, over="simulated-time", spread="ci")
print(found.results[["label", "n"]], found.rank_tests, found.curves["gdas"].frame.tail())
tasks = nb.compare_tasks(runs)
print(
    tasks.win_tie_loss,
    tasks.tasks["nb201"].curves["random"].frame.tail(),
    tasks.task_table().markdown(),
    tasks.table().latex(),
    tasks.methods_text(),
)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
nb.draw_regret(gdas, ax=left)
nb.draw_ranking("runs/ranked/ranking", ax=right, epoch=2, predictor="loss")
nb.compare(runs, ax=left, colors={"GDAS": "red"}, style="paper")
nb.compare(runs, style=nb.FigureStyle())
nb.compare(runs, style={"font.size": 8}, mark=["ResNet cell"])
figure.savefig("ranking.pdf")
nb.save_figure(figure, "a.pdf")
nb.save_figure(axes, "b.pdf")
drawn = nb.draw_cell(nb.search_space("s1")[4], ax=left)
drawn.set_title("x")
nb.draw_cells(gdas[0])
nb.draw_statistics("pareto-fronts", nb.load_table("nb201"))
nb.write_report_page(["runs/a"], "report.html")
print(gdas.metrics, gdas.to_frame(), gdas[0].supernet(10)[0], gdas[0:1])
