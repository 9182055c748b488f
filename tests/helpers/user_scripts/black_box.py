"""A black-box optimizer of one's own."""

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query


class Lucky(nb.BlackBoxOptimizer):
    best: tuple[float, nb.Architecture] | None = None

    def ask(self) -> Query:
        if self.best is None or self.rng.random() < 0.2:
            return self.query(self.space.sample(self.rng))
        return self.query(self.space.mutate(self.best[1], self.rng))

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        if self.best is None or validation_error < self.best[0]:
            self.best = validation_error, query.architecture


study = nb.black_box(Lucky, space="s1", evaluations=50, repeats=20, out="runs/lucky-s1")
print(study.summary["test_regret"], study.final["test_error"].mean(), study.trajectory.head())
opened: nb.BlackBoxStudy = nb.open_run("runs/lucky-s1")
curve = opened.regret_curve("quartiles")
print(curve.at, curve.frame, [trace.result for trace in opened.traces()])


def regrets(folder: str) -> list[float]:
    study = nb.black_box("random", resume=folder)
    return [float(line["test_regret"]) for line in study.lines]
