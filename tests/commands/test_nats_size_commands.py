"""The command line on NATS-Bench's size space: look-ups, counts, and input that is refused."""

from pathlib import Path

import pytest
from refusals import missing

from nasbench1shot1 import cli


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    cli.main(list(arguments))
    return " ".join(capsys.readouterr().out.split())


def test_query_shows_what_is_measured_and_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "query", "64:48:32:16:8")
    assert not missing(text, "64:48:32:16:8 after 90 epochs on cifar10", "0.9079", "measured", "307,530", "2.86 %")
    assert text.startswith("64:48:32:16:8 after 90 epochs on cifar10 ")  # cifar10-valid has no accuracies: last
    assert text.count("not in this table") == 13  # validation, training and time of four; test of one
    assert "are missing (NaN); NATS-Bench's official archive has them." in text


def test_query_reads_every_form_of_an_architecture(capsys: pytest.CaptureFixture[str]) -> None:
    forms = (["nats-size:8:8:40:32:40"], ["8:8:40:32:40"], ["284", "--table", "nats-size"])
    answers = {printed(capsys, "query", *form, "--dataset", "cifar100") for form in forms}
    assert len(answers) == 1 and not missing(answers.pop(), "8:8:40:32:40 after 90 epochs on cifar100", "0.6270")


def test_query_draws_the_widths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "query", "64:48:32:16:8", "--dataset", "cifar10", "--draw", str(tmp_path / "widths.png"))
    assert (tmp_path / "widths.png").stat().st_size > 1000


def test_the_table_is_listed_described_and_verified(capsys: pytest.CaptureFixture[str]) -> None:
    assert not missing(printed(capsys, "table", "list"), "nats-size-v1-eed5d20 │ 32,768 │ 90 │")
    assert not missing(
        printed(capsys, "table", "info", "--table", "nats-size"), "budget of 90 epochs", "1 or 12 epochs", "(NaN)"
    )
    assert "all columns match" in printed(capsys, "table", "verify", "--table", "nats-size")
    assert printed(capsys, "space", "nats-size").count("32,768") == 2


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ("64:48:33:16:8", "33 8, 64"),
        ("nats-size:64:48:32:16", "nats-size:64:48:32:16:8"),
        ("32768 --table nats-size", "32768 32,767"),
        ("64:48:32:16:8 --epochs 200", "200 90"),
        ("64:48:32:16:8 --dataset cifar", "cifar cifar10"),
        ("64:48:32:16:8 --table nb201", "nats-size"),
        ("other:64:48:32:16:8", "other nats-size"),
    ],
)
def test_what_cannot_be_looked_up_is_refused_in_one_line(
    arguments: str, values: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["query", *arguments.split(), "--draw", "cell.png"])
    told = capsys.readouterr()
    assert ended.value.code == 2 and told.out == ""
    assert not missing(told.err, *values.split()) and told.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
