"""Claims: the rules for verdicts, evidence that must not be pooled, refusals, and the page from the shipped records."""

import json
import shutil
from dataclasses import replace
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import compared_runs
import numpy as np
import pandas
import pytest
from conftest import CHECKOUT
from made_records import open_made, read_packed_files, write_packed, write_records
from refusals import exits, refuses
from rich.console import Console

from nasbench1shot1.cli import COMMANDS, main
from nasbench1shot1.experiments.claims import catalogue, evidence, measures, nasbench_1shot1, page, verdicts
from nasbench1shot1.experiments.claims.catalogue import CLAIMS, judged, selected
from nasbench1shot1.experiments.claims.claim import (
    BLACK_BOX,
    COUNTS,
    ONE_SHOT,
    PAPERS,
    SUBJECTS,
    Claim,
    Result,
    Row,
)
from nasbench1shot1.experiments.claims.evidence import Records
from nasbench1shot1.experiments.claims.further_runs import CorrelationRange
from nasbench1shot1.experiments.claims.runs import Group, RunTest
from nasbench1shot1.experiments.claims.tables import all_and_best, correlation
from nasbench1shot1.experiments.claims.verdicts import (
    NEEDS_FULL_SCALE,
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    Interval,
    Strength,
)
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.nasbench201.benchmark import BENCHMARK as NASBENCH201
from nasbench1shot1.tables.table import load_table

SHIPPED = CHECKOUT / "docs" / "records"
ABOVE, AROUND, BELOW = Interval(2.0, 1.0, 3.0), Interval(0.5, -0.5, 1.5), Interval(-2.0, -3.0, -1.0)

# Rules ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("difference", "level", "n", "predicted", "verdict"),
    [
        (ABOVE, "paper", 10, False, REPRODUCED),
        (ABOVE, "ranking", 10, False, REPRODUCED),
        (ABOVE, "ranking", 10, True, UNDECIDED),
        (ABOVE, "sample", 10, False, REPRODUCED),
        (ABOVE, "below", 10, False, UNDECIDED),
        (ABOVE, "paper", 9, False, UNDECIDED),
        (AROUND, "paper", 10, False, UNDECIDED),
        (BELOW, "paper", 10, False, NOT_REPRODUCED),
        (BELOW, "ranking", 10, False, NOT_REPRODUCED),
        (BELOW, "sample", 10, False, UNDECIDED),
        (BELOW, "paper", 10, True, UNDECIDED),
        (BELOW, "paper", 9, False, UNDECIDED),
        (BELOW, "below", 10, False, UNDECIDED),
        (Interval(0.0, 0.0, 0.0), "paper", 10, False, UNDECIDED),
    ],
)
def test_an_ordering_is_decided_by_sign_level_and_number(difference, level, n, predicted, verdict):
    assert verdicts.of_ordering(difference, Strength(level, n, 10, predicted)) == verdict


@pytest.mark.parametrize(
    ("value", "level", "error", "verdict"),
    [
        (Interval(94.373), "paper", 0.0, REPRODUCED),
        (Interval(94.376), "paper", 0.0, NOT_REPRODUCED),
        (Interval(94.3, 94.2, 94.4), "paper", 0.0, REPRODUCED),
        (Interval(94.3, 94.25, 94.35), "paper", 0.0, NOT_REPRODUCED),
        (Interval(94.3, 94.25, 94.35), "paper", 0.03, REPRODUCED),  # the root of 0.05² + (1.96 · 0.03)² is 0.077
        (Interval(94.3, 94.25, 94.35), "sample", 0.0, UNDECIDED),
        (Interval(94.3, 94.2, 94.4), "ranking", 0.0, UNDECIDED),
        (Interval(94.3, 94.2, 94.4), "below", 0.0, UNDECIDED),
    ],
)
def test_a_number_must_be_in_the_interval_after_rounding(value, level, error, verdict):
    assert verdicts.of_number(value, 94.37, 0.005, Strength(level, 500, 100), error) == verdict


@pytest.mark.parametrize("seeds", [3, 10])
def test_a_mean_with_an_undefined_value_is_undecided_at_every_level(seeds):
    """Such as a mean of correlations, one of which is undefined."""
    value = verdicts.mean_of(np.append(np.full(seeds - 1, 0.9049), np.nan))
    assert verdicts.of_number(value, 0.9049, 0.00005, Strength("paper", 500, 100)) == UNDECIDED
    assert Row(part="part", verdict=UNDECIDED, value=value, unit=" %").value_text == "undefined"


def test_a_share_is_decided_by_its_exact_interval():
    assert verdicts.share_of(9, 10)[1:3] == pytest.approx((0.5549839, 0.9974714), abs=1e-7)  # Clopper and Pearson
    decide = [verdicts.of_share(hits, Strength("paper", 10, 10)) for hits in (9, 8, 2, 1)]
    assert decide == [REPRODUCED, UNDECIDED, UNDECIDED, NOT_REPRODUCED]
    assert {verdicts.of_share(hits, Strength("ranking", 10, 10)) for hits in (0, 10)} == {UNDECIDED}
    assert (verdicts.share_of(0, 10).low, verdicts.share_of(10, 10).high) == (0, 1)


def test_searches_that_differ_in_an_unstated_option_or_in_their_observations_refute_nothing():
    strength = Strength("paper", 500, 100, only_confirms=True)
    assert verdicts.of_number(Interval(1.0, 0.9, 1.1), 2.0, 0.0, strength) == UNDECIDED
    assert verdicts.of_number(Interval(1.0, 0.9, 1.1), 1.05, 0.0, strength) == REPRODUCED


def test_the_interval_of_a_mean_is_students():
    values = np.append(np.full(7, 0.9), np.full(3, 5.4))
    found, half = verdicts.mean_of(values), 2.26216 * values.std(ddof=1) / 10**0.5
    assert found.value == pytest.approx(2.25)
    assert (found.low, found.high) == pytest.approx((2.25 - half, 2.25 + half), rel=1e-5)


def test_black_box_searches_on_nb201_only_confirm_because_they_observe_means():
    claims = [claim for claim in CLAIMS.values() if "nas201-figure6" in getattr(claim.evidence, "figures", ())]
    assert len(claims) == 5
    for claim in claims:
        compared = {curve for places in claim.evidence.places().values() for _, curve in places}
        assert claim.evidence.only_confirming == compared and "observed single trainings" in claim.note


def test_a_claim_needs_all_parts_and_falls_with_one():
    assert verdicts.combined([REPRODUCED, REPRODUCED]) == REPRODUCED
    assert verdicts.combined([REPRODUCED, UNDECIDED]) == UNDECIDED
    assert verdicts.combined([REPRODUCED, NEEDS_FULL_SCALE]) == UNDECIDED
    assert verdicts.combined([REPRODUCED, UNDECIDED, NOT_REPRODUCED]) == NOT_REPRODUCED


def test_of_equally_close_rows_the_first_one_without_predicted_values_decides():
    """As when records that were scored on the bundled and on the official table are read together."""
    rows = [
        Row(part="part", value=ABOVE, verdict=verdict, level=level, source=source)
        for level, source, verdict in [
            ("ranking", "predicted", UNDECIDED),
            ("ranking", "measured", REPRODUCED),
            ("ranking", "measured", NOT_REPRODUCED),
            ("below", "measured", UNDECIDED),
        ]
    ]
    found = Result(next(iter(CLAIMS.values())), rows)
    assert found.decisive == [rows[1]] and found.verdict == REPRODUCED
    closer = replace(rows[0], level="paper")
    assert Result(found.claim, [*rows, closer]).decisive == [closer]


def test_the_interval_of_a_difference_has_the_width_of_two_independent_means():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 400), rng.normal(1, 2, 100)
    found = verdicts.difference_of(a, b)
    error = np.hypot(a.std() / 20, b.std() / 10)
    assert found.value == pytest.approx(b.mean() - a.mean())
    assert (found.low, found.high) == pytest.approx((found.value - 1.96 * error, found.value + 1.96 * error), abs=0.05)


def test_few_runs_have_a_range_instead_of_an_interval():
    a, b = np.array([1.0, 2.0, 6.0]), np.arange(10.0) + 20
    assert verdicts.mean_of(a) == Interval(3.0, 1.0, 6.0, is_range=True)
    assert verdicts.difference_of(a, b) == Interval(21.5, 14.0, 28.0, is_range=True)
    row = Row(part="part", verdict=UNDECIDED, value=verdicts.mean_of(a), digits=1, unit=" %")
    assert row.value_text == "3.0 % (range 1.0 to 6.0)"
    near_zero = replace(row, value=Interval(0.047, 0.00024, 0.093), digits=3)
    assert near_zero.value_text == "0.047 [0.0002, 0.093] %", "an end that decides keeps its sign"
    assert replace(near_zero, value=Interval(0.05, -0.0004, 0.0)).value_text == "0.050 [-0.0004, 0.000] %"
    assert not verdicts.mean_of(np.arange(6.0)).is_range and verdicts.mean_of(a[:1]).is_exact


def test_the_interval_of_a_correlation_equals_a_plain_bootstrap(monkeypatch):
    monkeypatch.setattr("nasbench1shot1.experiments.claims.tables.RESAMPLES", 50)
    a = np.random.default_rng(2).normal(5, 1, 40)
    b = a + np.random.default_rng(3).normal(0, 1, 40)
    rng = np.random.default_rng(0)
    plain = []
    for _ in range(50):
        rows = rng.integers(40, size=40)
        plain.append(np.corrcoef(a[rows], b[rows])[0, 1])
    expected = (np.corrcoef(a, b)[0, 1], *np.quantile(plain, (0.025, 0.975)))
    assert correlation(a, b)[:3] == pytest.approx(expected)


def test_the_best_architectures_of_a_resample_are_selected_from_it(monkeypatch):
    monkeypatch.setattr("nasbench1shot1.experiments.claims.tables.RESAMPLES", 50)
    a = np.sort(np.random.default_rng(2).normal(5, 1, 40))[::-1]
    b = a + np.random.default_rng(3).normal(0, 1, 40)
    pair, falls = all_and_best(a, b, 8)
    assert pair == pytest.approx((np.corrcoef(a, b)[0, 1], np.corrcoef(a[:8], b[:8])[0, 1]))
    rng, plain = np.random.default_rng(0), []
    for _ in range(50):
        drawn = [(a[row], b[row]) for row in rng.integers(40, size=40)]
        every, best = (np.corrcoef(*zip(*some, strict=True))[0, 1] for some in (drawn, sorted(drawn)[-8:]))
        plain.append(every - best)
    assert falls == pytest.approx(np.array(plain))


# Evidence -------------------------------------------------------------------------------------------------------------

BETTER = {place: [2.0 + k / 10 for k in range(10)] for place in ("s1/darts", "s1/gdas", "s1/enas", "s1/random-ws")}
PC_DARTS = [1.0 + k / 10 for k in range(10)]
KEY = "1shot1-figure2-pc-darts"


@pytest.fixture
def made(monkeypatch, tmp_path) -> Path:
    """A folder for made-up records, which `Records` opens."""
    monkeypatch.setattr(evidence, "open_run", open_made)
    return tmp_path


def result(folder: Path, key: str = KEY) -> Result:
    with Records([folder]) as records:
        return judged(selected([key]), records)[0]


def test_records_decide_at_the_papers_scale(made):
    write_records(made / "any.tar.xz", "figure2", {**BETTER, "s1/pc-darts": PC_DARTS})
    found = result(made)
    assert found.verdict == REPRODUCED
    row = found.rows[0]
    assert row.value is not None and row.value.value == pytest.approx(1.0) and row.value.low > 0
    assert (row.n, row.source, row.table, row.level) == ("10 seeds", "measured", "made", "paper")


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({}, NOT_REPRODUCED),
        ({"scale": "medium", "epochs": 40}, NOT_REPRODUCED),
        ({"scale": "quick", "epochs": 15}, UNDECIDED),
        ({"measured": False}, UNDECIDED),
    ],
)
def test_the_opposite_order_refutes_only_measured_runs_at_scales_that_rank(made, options, verdict):
    write_records(
        made / "any.tar.xz", "methods", {**BETTER, "s1/pc-darts": [9.0 + k / 10 for k in range(10)]}, **options
    )
    found = result(made)
    assert found.verdict == verdict and all(row.value.high < 0 for row in found.rows)


def test_the_quick_scale_confirms_nothing(made):
    write_records(made / "any.tar.xz", "methods", {**BETTER, "s1/pc-darts": PC_DARTS}, scale="quick", epochs=15)
    found = result(made)
    assert found.verdict == UNDECIDED and found.rows[0].value.low > 0


def test_a_study_cut_short_shows_its_n_and_decides_nothing(made):
    write_records(made / "any.tar.xz", "methods", {**BETTER, "s1/pc-darts": PC_DARTS[:7]})
    found = result(made)
    assert found.verdict == UNDECIDED
    assert {row.n for row in found.rows} == {"7 of 10 seeds"}


@pytest.mark.parametrize("other", [{"scale": "medium"}, {"table_id": "other"}, {"channels": 8}, {"preset": "original"}])
def test_settings_and_tables_are_never_pooled(made, other):
    """Half of the seeds at each setting: pooled, ten seeds would decide."""
    halves = {place: values[:5] for place, values in {**BETTER, "s1/pc-darts": PC_DARTS}.items()}
    write_records(made / "a.tar.xz", "methods", halves)
    write_records(made / "b.tar.xz", "methods", halves, **other)
    found = result(made)
    assert found.verdict == UNDECIDED and len(found.rows) == 2 * len(BETTER)
    assert {row.n for row in found.rows} == {"5 of 10 seeds"}


def test_curves_of_different_tables_are_not_compared(made):
    write_records(made / "a.tar.xz", "methods", BETTER)
    write_records(made / "b.tar.xz", "methods", {"s1/pc-darts": PC_DARTS}, table_id="other")
    assert result(made).verdict == NEEDS_FULL_SCALE


def test_the_larger_scale_gives_the_verdict(made):
    write_records(made / "a.tar.xz", "methods", {**BETTER, "s1/pc-darts": PC_DARTS}, scale="quick", epochs=15)
    write_records(made / "b.tar.xz", "figure2", {**BETTER, "s1/pc-darts": PC_DARTS})
    found = result(made)
    assert found.verdict == REPRODUCED and len(found.rows) == 2 * len(BETTER)


def test_runs_of_one_seed_count_once_and_may_not_differ(made):
    every = {**BETTER, "s1/pc-darts": PC_DARTS}
    write_records(made / "a.tar.xz", "methods", every)
    shutil.copy(made / "a.tar.xz", made / "b.tar.xz")
    assert {row.n for row in result(made).rows} == {"10 seeds"}
    write_records(made / "b.tar.xz", "methods", {**every, "s1/pc-darts": [0.1, *PC_DARTS[1:]]})
    with refuses(InvalidInputError, made / "a.tar.xz", made / "b.tar.xz", "methods/s1/pc-darts/seed-0"):
        result(made)


@pytest.mark.parametrize(
    ("measure", "value", "is_predicted"),
    [
        (measures.regret("final"), 5.0, False),
        (measures.regret("anytime"), 3.0, True),
        (measures.rise(0.25), 3.0, False),
        (measures.rise(0.5), 2.0, True),
    ],
    ids=["final", "anytime", "rise from a measured epoch", "rise from a predicted epoch"],
)
def test_a_value_is_predicted_if_a_line_that_its_measure_reads_is(measure, value, is_predicted):
    is_measured = [False, True, False, False, True]
    lines = [
        {"test_regret": epoch / 100, "validation_regret": 0.0, "test_measured": measured}
        for epoch, measured in enumerate(is_measured, 1)
    ]
    run = SimpleNamespace(shared_lines=lines, metrics=pandas.DataFrame(lines))
    group = Group.of(measure, [run], evidence.Setting((), "made"), "figure2", "gdas")
    assert group.values.tolist() == pytest.approx([value]) and group.is_predicted == is_predicted


def test_equal_ends_are_refuted_by_one_seed(made):
    write_records(made / "any.tar.xz", "figure2", {"s1/gdas": [1.0] * 10, "s2/gdas": [1.0] * 9 + [2.0]})
    found = result(made, "1shot1-table2-gdas-spread")
    assert [row.verdict for row in found.rows] == [REPRODUCED, NOT_REPRODUCED]
    assert [row.value.value for row in found.rows] == [100, 90]


def test_a_curve_may_have_another_name_in_another_figure(made):
    options = {"scale": "quick", "architecture": NASBENCH201.reference_points["all-skip cell"]}
    write_records(made / "any.tar.xz", "nas201-collapse", {"50-epochs/augmented": [40.07] * 7}, **options)
    found = result(made, "201-collapse")
    assert [(row.part, row.n, row.verdict) for row in found.rows] == [
        ("nb201, DARTS", "7 of 10 seeds", UNDECIDED),
        ("nb201, DARTS, second order", "", NEEDS_FULL_SCALE),
    ]
    assert found.rows[0].value is not None and found.rows[0].value.value == 100


def test_folders_of_figures_are_read_like_files(made):
    write_records(made / "any.tar.xz", "figure2", {**BETTER, "s1/pc-darts": PC_DARTS})
    folder = made / "runs" / "figure2-full"
    for name, content in read_packed_files(made / "any.tar.xz").items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "s1" / "gdas" / "seed-9" / "summary.json").unlink()  # unfinished
    for place in (folder, folder.parent):
        found = result(place)
        assert [row.n for row in found.rows] == ["10 seeds", "9 seeds", "10 seeds", "10 seeds"]


@pytest.mark.parametrize(("regret", "verdict"), [(0.804, REPRODUCED), (1.155, NOT_REPRODUCED)])
def test_published_regrets_are_converted_to_the_reference_of_the_table(made, regret, verdict):
    """The lowest test errors of s1 are 0.0545 in one training and 0.0580 on average: 0.351 points apart."""
    write_records(made / "any.tar.xz", "figure2", {"s1/gdas": [regret] * 10})
    row = next(row for row in result(made, "1shot1-table2-default").rows if row.part == "GDAS, s1")
    assert (row.published, row.verdict) == ("1.155 ± 0.0; converted: 0.804", verdict)


def test_the_reference_of_the_conversion_is_that_of_the_bundled_table():
    for space, error in nasbench_1shot1.LOWEST_MEAN.items():
        best = load_table().best(space, split="test")[1]
        assert 1 - best.test_accuracy == pytest.approx(error, abs=1e-12) and best.is_measured("test_accuracy")


def test_evidence_that_only_confirms_states_that_a_part_disagrees(made):
    refuted = verdicts.decided(lambda of: verdicts.of_ordering(BELOW, of), Strength("paper", 500, 100))
    assert refuted == {"verdict": NOT_REPRODUCED, "disagrees": False}
    for limited, value, disagrees in [
        (Strength("paper", 500, 100, only_confirms=True), BELOW, True),
        (Strength("sample", 500, 100), BELOW, True),
        (Strength("sample", 500, 100), AROUND, False),
        (Strength("below", 500, 100), BELOW, False),
        (Strength("paper", 500, 100, predicted=True), BELOW, False),
        (Strength("paper", 50, 100, only_confirms=True), BELOW, False),
    ]:
        found = verdicts.decided(lambda of, value=value: verdicts.of_ordering(value, of), limited)
        assert found == {"verdict": UNDECIDED, "disagrees": disagrees}


# Bad input ------------------------------------------------------------------------------------------------------------


def test_bad_records_are_refused(made):
    empty = made / "empty"
    empty.mkdir()
    for folder in (made / "missing", empty):
        with refuses(InvalidInputError, folder, options="records pack"):
            Records([folder])
    (empty / "no.tar.xz").write_bytes(b"not an archive")
    with refuses(InvalidInputError, empty / "no.tar.xz"):
        Records([empty])
    (empty / "no.tar.xz").unlink()
    write_records(empty / "one.tar.xz", "figure99", {"s1/gdas": [1.0]})
    with refuses(InvalidInputError, empty / "one.tar.xz", "figure99"):
        Records([empty])
    write_records(empty / "one.tar.xz", None, {"s1/gdas": [1.0]})
    with refuses(DamagedFileError, empty / "one.tar.xz", "figure.json"):
        Records([empty])


def test_a_damaged_record_is_refused_and_nothing_is_written(tmp_path, capsys):
    name = "nb201/random/seed-0/metrics.jsonl"
    files = read_packed_files(SHIPPED / "nas201-figure6.tar.xz")
    write_packed(tmp_path / "one.tar.xz", {**files, name: files[name][: len(files[name]) // 2]})
    with exits(capsys, tmp_path / "one.tar.xz", "nb201/random/seed-0"):
        main(["claims", "--records", str(tmp_path), "--only", "201-table5-random", "--out", str(tmp_path / "page.md")])
    write_packed(tmp_path / "one.tar.xz", {"figure.json": files["figure.json"], name: b""})
    with refuses(DamagedFileError, tmp_path / "one.tar.xz", "nb201/random/seed-0"), Records([tmp_path]) as records:
        records.runs("nas201-figure6", "nb201", "random")
    assert not (tmp_path / "page.md").exists()


def test_an_unknown_key_is_refused(tmp_path, capsys):
    with exits(capsys, "201-ranking"):
        main(["claims", "--only", "201-rankings", "--out", str(tmp_path / "page.md")])
    assert not list(tmp_path.iterdir())


def test_a_terminal_shows_that_claims_are_tested(tmp_path, monkeypatch):
    screen = Console(file=StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("nasbench1shot1.ground.text.literal_console", lambda: screen)
    main(["claims", "--only", "201-table5-random", "--out", str(tmp_path / "page.md")])
    assert "testing 1 claim" in screen.file.getvalue()


def test_a_folder_cannot_be_the_page(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "judged", lambda *_: pytest.fail("tested"))
    for out in (".", "/", str(tmp_path)):
        with exits(capsys, "--out", f"'{out}'"):
            main(["claims", "--only", "201-table5-random", "--out", out])
    assert not list(tmp_path.iterdir())


# The claims and their page --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.key)
def test_claims_refer_to_existing_figures(claim: Claim):
    assert claim.paper in PAPERS and claim.statement.endswith(".") and claim.evidence.how and claim.evidence.command
    test = claim.evidence
    if isinstance(test, RunTest):
        known = {
            (panel.key, curve.key)
            for name in test.figures
            for scale in FIGURES[name].scales.values()
            for panel, curve in scale.pairs()
        }
        takes_space = any(FIGURES[name].takes_space for name in test.figures)
        curves = {curve for _, curve in known}
        for places in test.places().values():
            assert all(place in known or (takes_space and place[1] in curves) for place in places)
        assert all(known.issuperset(renamed) for renamed in test.renamed.values())
        assert all(figure in test.figures for figure, _ in test.renamed)


def test_the_commands_of_claims_exist_with_their_options(monkeypatch):
    parsed: list[object] = []
    for command in COMMANDS.values():
        module, _, name = command.target.partition(":")
        options = getattr(import_module(f"nasbench1shot1.commands.{module}"), name)
        monkeypatch.setattr(options, "run", lambda self: parsed.append(self))
    for claim in CLAIMS.values():
        main(claim.evidence.command.partition(", and ")[0].split()[1:])
    assert len(parsed) == len(CLAIMS)


def test_the_shipped_records_give_the_published_page(tmp_path, capsys, monkeypatch):
    """To renew the page: nb1shot1 claims --records docs/records --out docs/claims.md."""
    monkeypatch.setenv("COLUMNS", "80")
    main(["claims", "--records", str(SHIPPED), "--out", str(tmp_path / "claims.md")])
    assert (tmp_path / "claims.md").read_text() == (CHECKOUT / "docs" / "claims.md").read_text()
    shown = capsys.readouterr().out
    assert all(key in shown for key in CLAIMS)
    assert sum(line.startswith("│") for line in shown.splitlines()) == len(CLAIMS)  # each claim is on one line
    assert "…" not in shown


def test_the_summary_states_what_verdicts_rest_on():
    def made_result(key, verdict, disagrees=False, published="46.77"):
        row = Row(part="test", published=published, value=ABOVE, verdict=verdict, disagrees=disagrees)
        return Result(CLAIMS[key], [row])

    results = [
        made_result("201-cells", REPRODUCED),
        made_result("201-optimal", NOT_REPRODUCED),
        made_result("aa-optimal", NOT_REPRODUCED),
        made_result("201-resnet", NOT_REPRODUCED, published="90.83"),
        made_result("201-table5-bohb", UNDECIDED, disagrees=True),
        made_result("201-gdas", UNDECIDED),
    ]
    text = page.as_markdown(results).partition("## Summary")[2]
    assert "| counts of architectures | 1 | 0 | 0 | 0 |" in text
    assert "| values of a benchmark table | 0 | 3 | 0 | 0 |" in text
    assert "No claim about one-shot searches is reproduced or refuted" in text
    assert 'Of the 3 claims with the verdict "not reproduced", 3 compare' in text
    assert "The same number refutes [201-optimal](#201-optimal), [aa-optimal](#aa-optimal) (test: 46.77" in text
    assert "- 1 claim would be refuted" in text and '"undecided at this scale": [201-table5-bohb]' in text
    results[-1] = made_result("201-gdas", NOT_REPRODUCED)
    assert "No claim about one-shot searches" not in page.as_markdown(results)


def test_every_claim_has_a_subject():
    subjects = {key: claim.evidence.subject for key, claim in CLAIMS.items()}
    assert set(subjects.values()) == set(SUBJECTS)
    assert {key for key, subject in subjects.items() if subject == COUNTS} == {
        "1shot1-count-loose-ends",
        "1shot1-count-no-loose-ends",
        "1shot1-count-distinct",
        "101-encodings",
        "101-mini",
        "201-cells",
        "aa-cells",
        "nats-sizes",
    }
    assert subjects["201-ranking"] == BLACK_BOX and subjects["1shot1-figure5-tuning"] == ONE_SHOT


def test_shipped_records_are_small():
    sizes = [path.stat().st_size for path in SHIPPED.iterdir()]
    assert max(sizes) < 2e6 and sum(sizes) < 8e6


# Claims on studies ----------------------------------------------------------------------------------------------------


def test_tuned_optimizers_are_compared_with_defaults_and_black_box_studies(tmp_path):
    folders = {name: tmp_path / name for name in ("figure5", "figure2", "nas101-figure7")}
    for name, folder in folders.items():
        folder.mkdir()
        (folder / "figure.json").write_text(json.dumps({"figure": name}))
    study = compared_runs.tuning(folders["figure5"] / "s1" / "darts" / "seed-0")
    scale = {name: study.shared_options[name] for name in ("scale", "preset")}
    searches = [
        compared_runs.search(folders["figure2"] / "s1" / "darts" / f"seed-{seed}", [0, 40], **scale, seed=seed)
        for seed in (0, 1)
    ]
    rival = compared_runs.black_box(folders["nas101-figure7"] / "s1" / "regularized-evolution" / "seed-0", "random")
    rows = {row.part: row for row in result(tmp_path, "1shot1-figure5-tuning").rows}
    tuned = min(study.lines, key=lambda line: line["loss"] if line["loss"] is not None else 1)["test_regret"]
    default, other = (rows[f"s1: tuned DARTS better than {name}"] for name in ("its default", "regularized evolution"))
    assert default.value is not None and other.value is not None
    mean = np.mean([run.lines[-1]["test_regret"] for run in searches])
    assert default.value.value == pytest.approx(100 * (mean - tuned))
    assert other.value.value == pytest.approx(100 * (rival.final["test_regret"].mean() - tuned))
    assert {default.verdict, other.verdict} == {UNDECIDED} and default.n == "1 of 2 seeds"
    assert default.setting != other.setting and all(" epochs, against " in row.setting for row in (default, other))
    assert rows["s2: tuned DARTS better than its default"].value is None


def test_a_range_is_decided_by_the_means_at_all_epochs():
    rows = {}
    for level, values in (("in", [0.1, 0.2]), ("out", [0.1, 0.5])):
        runs = [SimpleNamespace(config={"optimizer": "gdas", "space": "s1", "architectures": "all"})] * 10
        setting = evidence.Setting(
            (("scale", "full"), ("epochs", 50), ("preset", "corrected"), ("channels", 16), ("cells", 9)), "t"
        )
        noise = np.linspace(-0.01, 0.01, 10)[:, None]
        group = MadeGroup((np.array([values]) + noise).ravel(), runs, setting, "figure3", "gdas")
        test = CLAIMS["1shot1-figure3"].evidence
        assert isinstance(test, CorrelationRange)
        rows[level] = test.row("s1, GDAS", [group])
        if level == "in":
            group.values[3] = np.nan  # of the second seed, in the second epoch
            rows["undefined"] = test.row("s1, GDAS", [group])
    assert (rows["in"].verdict, rows["out"].verdict) == (REPRODUCED, NOT_REPRODUCED)
    assert rows["undefined"].verdict == UNDECIDED and rows["undefined"].value is not None
    assert rows["out"].value is not None and rows["out"].value.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("evaluations", "studies", "verdict"), [(280, 10, REPRODUCED), (280, 3, UNDECIDED), (50, 10, UNDECIDED)]
)
def test_tuned_optimizers_can_be_better_than_a_black_box_optimizer(evaluations, studies, verdict, monkeypatch):
    monkeypatch.setattr(MadeGroup, "is_black_box", property(lambda group: group.figure == "nas101-figure7"))
    test, groups = CLAIMS["1shot1-figure5-tuning"].evidence, []
    sizes = {"figure5": {"scale": "full", "preset": "corrected", "iterations": 16, "max_budget": 100}}
    sizes["nas101-figure7"] = {"evaluations": evaluations}
    for (figure, size), regret, n in zip(sizes.items(), (0.1, 0.5), (studies, 500), strict=True):
        runs = [SimpleNamespace(config={"optimizer": "darts", "space": "s1"})] * n
        noise = np.linspace(-0.01, 0.01, n)
        groups.append(MadeGroup(regret + noise, runs, evidence.Setting(tuple(size.items()), "t"), figure, "darts"))
    assert test.row("s1: tuned DARTS better than regularized evolution", groups).verdict == verdict


def test_studies_without_an_incumbent_are_left_out(tmp_path, monkeypatch):
    for name in ("figure5", "figure2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "figure.json").write_text(json.dumps({"figure": name}))
    studies = [compared_runs.tuning(tmp_path / "figure5" / "s1" / "darts" / f"seed-{seed}") for seed in (0, 1)]
    scale = {name: studies[0].shared_options[name] for name in ("scale", "preset")}
    compared_runs.search(tmp_path / "figure2" / "s1" / "darts" / "seed-0", [0, 40], **scale)
    part = "s1: tuned DARTS better than its default"
    lines = type(studies[0]).lines

    def diverged(study):
        found = lines.__get__(study)
        return found if study.folder.name == "seed-0" else [{**line, "loss": None} for line in found]

    monkeypatch.setattr(type(studies[0]), "lines", property(diverged))
    (row,) = (row for row in result(tmp_path, "1shot1-figure5-tuning").rows if row.part == part)
    assert row.value is not None and row.n == "1 of 2 seeds"
    shutil.rmtree(studies[0].folder)
    (row,) = (row for row in result(tmp_path, "1shot1-figure5-tuning").rows if row.part == part)
    assert (row.value, row.verdict) == (None, NEEDS_FULL_SCALE)


class MadeGroup(Group):
    """A group of measured values without records."""

    is_predicted = False
