"""The files of other optimizers, read as studies.

Optuna, SMAC and hpbandster write their files here themselves. The files of Syne Tune 0.16.0 and NePS 0.17.0, which the
tests do not install, are written in their documented formats.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from black_box_tables import S1
from refusals import refuses
from synthetic_study import write_study

import nasbench1shot1 as nb
from nasbench1shot1.tuning.export import export_optuna, write_hpbandster_files

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
OBJECTIVE = nb.objective("s1")
Answer = tuple[dict[str, str], nb.Evaluation]


@pytest.fixture(scope="module")
def trained() -> list[Answer]:
    """Eight trainings of one search, at two budgets."""
    objective = nb.objective("s1", evaluations=8)
    found = []
    for number in range(8):
        arch = S1.sample(objective.rng)
        found.append((objective.configuration(arch), objective(arch, epochs=(36, 108)[number % 2])))
    return found


@pytest.fixture(scope="module")
def expected(trained: list[Answer]) -> nb.BlackBoxStudy:
    rows = [
        {"run": 0, "seconds": answer.finished, "epochs": answer.epochs, "validation_error": answer.cost, **choices}
        for choices, answer in trained
    ]
    return nb.study_from_frame(pd.DataFrame(rows), "s1")


def optuna_trials(trained: list[Answer], direction: str, is_timed: bool = True) -> list[Any]:
    space = {name: optuna.distributions.CategoricalDistribution(of) for name, of in OBJECTIVE.choices.items()}
    return [
        optuna.create_trial(
            params=choices,
            distributions=space,
            value=answer.cost if direction == "minimize" else 1 - answer.cost,
            intermediate_values={answer.epochs: answer.cost},
            user_attrs={"finished": answer.finished, "seconds": answer.seconds} if is_timed else {},
        )
        for choices, answer in trained
    ]


def journal(file: Path) -> Any:
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(file)))


def sqlite(file: Path) -> Any:
    return optuna.storages.RDBStorage(f"sqlite:///{file}")


@pytest.mark.parametrize(("name", "storage"), [("my.journal", journal), ("my.sqlite3", sqlite)])
def test_optuna(
    name: str, storage: Callable[[Path], Any], trained: list[Answer], expected: nb.BlackBoxStudy, tmp_path: Path
) -> None:
    file, directions = tmp_path / name, {"first": "minimize", "second": "maximize"}
    opened = storage(file)
    for study, direction in directions.items():
        made = optuna.create_study(storage=opened, study_name=study, direction=direction)
        made.add_trials(optuna_trials(trained, direction))
        failed = made.ask()
        made.tell(failed, state=optuna.trial.TrialState.FAIL)
    if hasattr(opened, "engine"):
        opened.engine.dispose()
    before = file.read_bytes()
    found = nb.study_from(file, "s1", name="TPE")
    assert file.read_bytes() == before and [path.name for path in tmp_path.iterdir()] == [name]
    assert found.config["trajectory"]["runs"] == ["first", "second"]
    for line in found.lines:
        assert {**line, "repeat": 0} == expected.lines[0]


def test_a_journal_of_the_adapter_gives_the_record_of_its_objective(tmp_path: Path) -> None:
    storage = journal(tmp_path / "my.journal")
    with nb.objective("s1", evaluations=12, name="mine", out=tmp_path / "ours") as objective:
        for search in range(2):
            objective.reset(search)
            sampler = optuna.samplers.RandomSampler(seed=search)
            study = optuna.create_study(storage=storage, study_name=f"{search}", sampler=sampler)
            study.optimize(nb.optuna_objective(objective))
    found = nb.study_from(tmp_path / "my.journal", "s1", name="mine")
    assert found.lines == nb.open_run(tmp_path / "ours").lines


def test_a_journal_of_the_adapter_has_the_budget_of_its_objective(tmp_path: Path) -> None:
    with nb.objective("nb201", evaluations=4, epochs=200, name="mine", out=tmp_path / "ours") as objective:
        sampler = optuna.samplers.RandomSampler(seed=0)
        study = optuna.create_study(storage=journal(tmp_path / "my.journal"), sampler=sampler)
        study.optimize(nb.optuna_objective(objective))
    found = nb.study_from(tmp_path / "my.journal", "nb201", name="mine")
    assert found.lines == nb.open_run(tmp_path / "ours").lines and list(found.feedback_repeats) == ["200"]


@pytest.mark.parametrize("budgets", [None, (4, 12)])
def test_trials_outside_the_bounds_of_an_objective_are_not_trainings(
    budgets: tuple[int, ...] | None, tmp_path: Path
) -> None:
    trainings = 12 if budgets is None else 12 // len(budgets)
    bounded = nb.objective("s1", evaluations=12, bounds="trainable_parameters=2e6", name="mine", out=tmp_path / "ours")
    with bounded as objective:
        study = optuna.create_study(
            storage=journal(tmp_path / "my.journal"),
            sampler=optuna.samplers.RandomSampler(seed=1),
            pruner=optuna.pruners.NopPruner(),
        )
        study.optimize(nb.optuna_objective(objective, budgets))
    assert len(study.trials) > trainings, "some trials are outside the bounds"
    (own,), (found,) = (
        study.lines for study in (nb.open_run(tmp_path / "ours"), nb.study_from(tmp_path / "my.journal", "s1"))
    )
    if budgets is None:
        kept = [[entry[0], *entry[2:4]] for entry in found["incumbents"]]
        assert kept == [[entry[0], *entry[2:4]] for entry in own["incumbents"]]
    assert found["evaluations"] == trainings


def test_optuna_without_a_clock_numbers_its_trials(trained: list[Answer], tmp_path: Path) -> None:
    made = optuna.create_study(storage=journal(tmp_path / "my.log"), study_name="one")
    made.add_trials(optuna_trials(trained, "minimize", is_timed=False))
    found = nb.study_from(tmp_path / "my.log", "s1", losses=False)
    assert found.clock == "evaluations" and not found.is_timed
    assert found.lines[0]["evaluations"] == 8 and found.feedback_repeats == {}


@pytest.mark.parametrize("is_told", [True, False])
def test_smac(trained: list[Answer], expected: nb.BlackBoxStudy, tmp_path: Path, is_told: bool) -> None:
    runhistory = pytest.importorskip("smac.runhistory.runhistory", reason="SMAC is not installed")
    from ConfigSpace import Configuration
    from smac.runhistory.enumerations import StatusType

    history = runhistory.RunHistory()
    for choices, answer in trained:
        config = Configuration(OBJECTIVE.configuration_space, choices)
        about = {} if is_told else {"finished": answer.finished}
        times = {"time": answer.seconds} if is_told else {"time": 0.1, "starttime": 1.0, "endtime": 1.1}
        history.add(config, answer.cost, budget=float(answer.epochs), additional_info=about, seed=0, **times)
    crashed = Configuration(OBJECTIVE.configuration_space, trained[0][0])
    history.add(crashed, 9.0, budget=4.0, status=StatusType.CRASHED, seed=0)
    history.save(tmp_path / "runhistory.json")
    found = nb.study_from(tmp_path, "s1")
    assert found.lines[0]["architecture"] == expected.lines[0]["architecture"]
    assert found.lines[0]["incumbents"] == [pytest.approx(entry) for entry in expected.lines[0]["incumbents"]]


def test_hpbandster(trained: list[Answer], expected: nb.BlackBoxStudy, tmp_path: Path) -> None:
    result = pytest.importorskip("hpbandster.core.result", reason="hpbandster is not installed")
    from hpbandster.core.dispatcher import Job

    logger = result.json_result_logger(str(tmp_path))
    for number, (choices, answer) in enumerate(trained):
        logger.new_config((0, 0, number), choices, {"model_based_pick": False})
        job = Job((0, 0, number), config=choices, budget=answer.epochs)
        job.timestamps = {"submitted": 1.0, "started": 1.0, "finished": 2.0 + number}
        job.result = {"loss": answer.cost, "info": {"finished": answer.finished}}
        logger(job)
    failed = Job((0, 0, 0), config=trained[0][0], budget=4)
    failed.timestamps, failed.result, failed.exception = {"finished": 99.0}, None, "out of memory"
    logger(failed)
    assert nb.study_from(tmp_path / "results.json", "s1").lines == expected.lines
    assert nb.study_from(tmp_path, "s1").lines == expected.lines


def test_the_files_of_a_tuning_study_are_refused(tmp_path: Path) -> None:
    study = write_study(tmp_path / "tuned", iterations=1)
    export_optuna(study, tmp_path / "tuned.journal")
    for folder in (study.folder, tmp_path / "exported"):
        write_hpbandster_files(study, folder)
    for path, named in (("tuned", "results.json"), ("tuned.journal", ""), ("exported", "results.json")):
        with refuses(nb.InvalidInputError, f"'{(tmp_path / path / named)}'", "tuning study", "nb.open_run"):
            nb.study_from(tmp_path / path, study.config["space"], losses=False)


def test_syne_tune(trained: list[Answer], expected: nb.BlackBoxStudy, tmp_path: Path) -> None:
    rows = [
        {
            **{f"config_{name}": choice for name, choice in choices.items()},
            "trial_id": number,
            "accuracy": 1 - answer.cost,
            "epochs": answer.epochs,
            "st_decision": "CONTINUE",
            "st_tuner_time": answer.finished,
        }
        for number, (choices, answer) in enumerate(trained)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "results.csv.zip", index=False)
    (tmp_path / "metadata.json").write_text(json.dumps({"metric_names": ["accuracy"], "metric_mode": "max"}))
    assert nb.study_from(tmp_path, "s1").lines == expected.lines
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        pd.DataFrame(rows).to_csv(folder / "results.csv.zip", index=False)
    both = nb.study_from([first, second], "s1")  # without metadata, the metric is unknown
    assert len(both.lines) == 2 and both.feedback_repeats == {}


@pytest.mark.parametrize("has_fixed", [True, False])  # NePS refuses parameters with a single choice
@pytest.mark.parametrize("others", [[], [129306.0]])
def test_neps(
    trained: list[Answer], expected: nb.BlackBoxStudy, tmp_path: Path, has_fixed: bool, others: list[float]
) -> None:
    names = [name for name, of in OBJECTIVE.choices.items() if has_fixed or len(of) > 1]
    assert has_fixed or len(names) < len(OBJECTIVE.choices)
    rows = [
        {
            "id": number,
            "config.epochs": answer.epochs,
            **{f"config.{name}": choices[name] for name in names},
            "objective_to_minimize": [answer.cost, *others] if others else answer.cost,
            "cost": answer.seconds,
            "state": "success",
        }
        for number, (choices, answer) in enumerate(trained)
    ]
    failed = {**rows[0], "id": 99, "objective_to_minimize": np.nan, "state": "crashed"}
    (tmp_path / "summary").mkdir()
    pd.DataFrame([*rows, failed]).to_csv(tmp_path / "summary" / "full.csv", index=False)
    found = nb.study_from(tmp_path, "s1")
    assert found.lines[0]["incumbents"] == [pytest.approx(entry) for entry in expected.lines[0]["incumbents"]]


@pytest.mark.parametrize("name", ["full.csv", "runhistory.json"])
def test_untrained_proposals_in_files_that_do_not_mark_them_are_refused(name: str, tmp_path: Path) -> None:
    """Without the recorded errors, they would count as trainings: the message must not suggest to leave these out."""
    objective = nb.objective("s1", bounds="trainable_parameters=2e6", evaluations=100)
    archs = [S1.sample(objective.rng) for _ in range(20)]
    answers = [objective(arch) for arch in archs]
    first = [answer.is_trained for answer in answers].index(False)
    assert answers[first].cost == 1 and any(answer.is_trained for answer in answers)
    configurations = [objective.configuration(arch) for arch in archs]
    if name == "full.csv":
        rows = [
            {f"config.{choice}": value for choice, value in one.items()} | {"objective_to_minimize": answer.cost}
            for one, answer in zip(configurations, answers, strict=True)
        ]
        pd.DataFrame(rows).to_csv(tmp_path / name, index=False)
    else:
        same = {"status": 1, "time": 0.1, "starttime": 1.0, "budget": 108}
        data = [
            {**same, "config_id": number, "endtime": number, "cost": answer.cost}
            for number, answer in enumerate(answers)
        ]
        (tmp_path / name).write_text(json.dumps({"data": data, "configs": dict(enumerate(configurations))}))
    with refuses(nb.InvalidInputError, name, f"row {first + 1},", "bounds", "give nb.objective a folder") as caught:
        nb.study_from(tmp_path / name, "s1")
    assert "leave" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("notes.txt", "", ("notes.txt", "runhistory.json")),
        ("my.journal", "{broken", ("my.journal", "Optuna")),
        ("my.db", "no database", ("my.db", "Optuna")),
        ("runhistory.json", "{}", ("runhistory.json", "SMAC")),
        ("runhistory.json", '{"data": [], "configs": {}}', ("runhistory.json", "no successful")),
        ("results.json", '[[0, 0, 0], 4, {"finished": 1}, {"loss": 1}, null]\n', ("results.json", "configs.json")),
        ("results.csv.zip", "PK", ("results.csv.zip",)),
        ("full.csv", "id,cost\n1,2\n", ("full.csv", "NePS")),
        ("mine.csv", "run,seconds\n0,1\n", ("mine.csv", "architecture")),
        ("mine.csv", "", ("mine.csv",)),
    ],
)
def test_unknown_and_damaged_files_are_one_sentence(
    name: str, content: str, named: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with refuses(nb.UserError, *named):
        nb.study_from(tmp_path / name, "s1", out=tmp_path / "study")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_folders_without_or_with_several_files_are_refused(tmp_path: Path) -> None:
    with refuses(nb.InvalidInputError, tmp_path):
        nb.study_from(tmp_path, "s1")
    for name in ("runhistory.json", "full.csv"):
        (tmp_path / name).touch()
    with refuses(nb.InvalidInputError, tmp_path, "runhistory.json", "full.csv"):
        nb.study_from(tmp_path, "s1")
    with refuses(nb.InvalidInputError, tmp_path / "none"):
        nb.study_from(tmp_path / "none", "s1")


def test_an_objective_that_is_not_the_tables_error_is_refused_unless_left_out(
    trained: list[Answer], tmp_path: Path
) -> None:
    rows = [{"run": 0, "evaluation": 1 + n, "validation_error": 5.0, **one} for n, (one, _) in enumerate(trained)]
    pd.DataFrame(rows).to_csv(tmp_path / "mine.csv.gz", index=False)
    with refuses(nb.InvalidInputError, "mine.csv.gz", "row 1", "validation_error"):
        nb.study_from(tmp_path / "mine.csv.gz", "s1")
    assert len(nb.study_from(tmp_path / "mine.csv.gz", "s1", losses=False).lines) == 1


def test_a_file_without_budgets_is_read_at_a_given_budget(tmp_path: Path) -> None:
    rows = pd.DataFrame({"evaluation": [1, 2, 3], "architecture": [5, 700, 9000]})
    rows.to_csv(tmp_path / "mine.csv", index=False)
    found = nb.study_from(tmp_path / "mine.csv", "nb201", epochs=200)
    assert found.config["epochs"] == 200
    assert found.lines == nb.study_from_frame(rows.assign(epochs=200), "nb201").lines
    assert found.lines != nb.study_from(tmp_path / "mine.csv", "nb201").lines
    own = nb.study_from_frame(rows.assign(epochs=12), "nb201", epochs=200)
    assert own.lines == nb.study_from_frame(rows, "nb201").lines, "the column has priority"
    for epochs in (13, 0, "many"):
        with refuses(nb.UserError, epochs, options="" if epochs == 13 else "epochs"):
            nb.study_from(tmp_path / "mine.csv", "nb201", epochs=epochs)  # type: ignore[arg-type]


def test_csv_files_keep_the_texts_of_choices(tmp_path: Path) -> None:
    objective = nb.objective("nb201")
    archs = [objective.space[number] for number in (0, 77, 15624)]  # some choices are "none"
    rows = [{"run": "A", "evaluation": 1 + n, **objective.configuration(arch)} for n, arch in enumerate(archs)]
    pd.DataFrame(rows).to_csv(tmp_path / "mine.csv", index=False)
    by_text = [{"run": "A", "evaluation": 1 + n, "architecture": str(arch)} for n, arch in enumerate(archs)]
    pd.DataFrame(by_text).to_csv(tmp_path / "texts.csv", index=False)
    found, texts = (nb.study_from(tmp_path / name, "nb201") for name in ("mine.csv", "texts.csv"))
    assert found.lines == texts.lines and len(found.to_frame()) == len(found.trajectory)


def test_each_csv_file_without_names_of_runs_is_a_run(tmp_path: Path) -> None:
    early, late = ({"seconds": [at, at + 1.0], "architecture": [5, 700]} for at in (1.0, 3.0))
    for name, content in {"early.csv": early, "late.csv": late, "named.csv": {"run": ["A", "B"], **early}}.items():
        pd.DataFrame(content).to_csv(tmp_path / name, index=False)
    paths = [tmp_path / "early.csv", tmp_path / "late.csv"]
    both = nb.study_from(paths, "nb201")
    assert both.config["trajectory"]["runs"] == [str(path) for path in paths]
    assert [line["evaluations"] for line in both.lines] == [2, 2]
    assert both.lines[0] == nb.study_from(paths[0], "nb201").lines[0]
    three = nb.study_from([paths[0], tmp_path / "named.csv"], "nb201")
    names = three.config["trajectory"]["runs"]
    assert names == [str(paths[0]), f"{tmp_path / 'named.csv'}: A", f"{tmp_path / 'named.csv'}: B"]
    assert str(three.source) == f"{paths[0]} and 1 other file"
    kept = nb.study_from(paths[0], "nb201", out=tmp_path / "kept")
    assert kept.source == kept.folder and set(kept.config["trajectory"]) == {"losses", "runs"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("seconds,architecture\n1,5\n2,99999\n", ("row 2", "architecture", "99999")),
        ("seconds,architecture\n1,5\n2,700\n1,9\n", ("row 3", "seconds", "in row 2 of run")),
        ("evaluation,seconds,architecture\n1,1,5\n2,2,7\n2,3,9\n", ("rows 2 and 3", "evaluation")),
        ("run,seconds,architecture\n,1,5\n,2,7\n", ("row 1", "run", "missing")),
        ("Run,seconds,architecture\n1,1,5\n2,2,7\n", ("'Run'", "'run'")),
        ("seconds,architecture,validation_error\n1,5,0.26416\n2,5,0.5\n", ("row 2", "validation_error", "0.5")),
        ("seconds,architecture\n1,5\n2\n", ("row 2", "1 value for 2 columns")),
        ("evaluation,architecture\n1,5\n9999999999,7\n", ("row 2", "evaluation", "9999999999")),
    ],
)
def test_a_problem_of_one_of_several_files_names_the_file_and_its_row(
    content: str, said: tuple[str, ...], tmp_path: Path
) -> None:
    rows = [row.split(",") for row in content.splitlines()]
    good = pd.DataFrame([rows[1]] * 1, columns=rows[0]).replace({"": "A"})
    good.to_csv(tmp_path / "good.csv", index=False)
    (tmp_path / "bad.csv").write_text(content)
    is_named = rows[0][0] != "Run"
    with refuses(nb.InvalidInputError, *said, *["bad.csv"] * is_named):
        nb.study_from([tmp_path / "good.csv", tmp_path / "bad.csv"], "nb201", out=tmp_path / "study")
    with refuses(nb.InvalidInputError, "bad.csv", *said):
        nb.study_from(tmp_path / "bad.csv", "nb201", out=tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_a_file_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("seconds,architecture\n1,5\n")
    with refuses(nb.InvalidInputError, "a.csv", "twice"):
        nb.study_from([tmp_path / "a.csv", tmp_path / "a.csv"], "nb201")


@pytest.mark.parametrize("path", [5, None, [5], b"a.csv"])
def test_what_is_not_a_path_is_refused(path: Any) -> None:
    with refuses(nb.InvalidInputError, "path", path[0] if isinstance(path, list) else repr(path)):
        nb.study_from(path, "nb201")
