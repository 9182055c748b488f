"""Rankings, tuning studies and trainings."""

import nasbench1shot1 as nb

run = nb.search("darts", space="s1", scale="quick", epochs=2, keep_weights_every=1, out="runs/ranked")
ranking = nb.correlate(run, epochs=(1, 2), architectures=20, images=40, budgets=(108,), resamples=20)
rows = ranking.correlations.query("criterion == 'spearman_loss' and scope == 'all'")
print(rows[["epoch", "split"]], ranking.scores(2).errors[:5], ranking.reliability)
nb.correlate("runs/ranked", epochs=[1], architectures="all", batch_norm="recalibrated")
study = nb.tune("gdas", space="s1", config_space="cs2", scale="quick", min_budget=3, max_budget=12, iterations=10)
print(study.observations["loss"].min(), study.summary["best"], study.configurations, study.run(0).architectures)
training = nb.train_cell(nb.search_space("s1")[3], scale="quick", epochs=1)
print(training.final.test_accuracy, training.metrics)
group = nb.train_cells([nb.search_space("s1")[3], nb.search_space("s1")[4].cell], seeds=[0, 1], scale="quick")
print(group.table().best("present"), group.to_frame(), len(group))
network = nb.build_network(nb.search_space("s1")[3])
print(sum(p.numel() for p in network.parameters()), network.state_dict())
print(nb.plan("figure2"))
nb.draw_ranking("runs/ranked/ranking").figure.savefig("ranking.pdf")
nb.draw_regret(run).figure.savefig("regret.pdf")
module = nb.search_space("nats-size")[3]
print(module.widths)
for kind in nb.search_space("s1").kinds:
    print(nb.search_space("s1").count(kind, rule="paper"))
