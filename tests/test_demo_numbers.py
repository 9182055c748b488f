"""All pages show the numbers of the recorded demo, and README's picture shows its curves."""

import re
import subprocess
from io import BytesIO
from pathlib import Path

import demo_numbers as demo
import numpy as np
import pytest
from conftest import CHECKOUT
from PIL import Image

import nasbench1shot1 as nb
from nasbench1shot1.scales import SCALES

VALUES = demo.numbers()


@pytest.mark.parametrize("page", demo.PAGES)
def test_pages_show_the_numbers_of_the_record(page: str) -> None:
    """To renew them: python -m tests.helpers.demo_numbers."""
    text = (CHECKOUT / page).read_text()
    assert "<!--demo" in text or any(pattern.search(text) for pattern, _ in demo.IN_CODE)
    assert demo.renewed(text, VALUES) == text


@pytest.mark.parametrize("page", demo.PAGES)
def test_no_paragraph_has_a_line_that_begins_with_a_comment(page: str) -> None:
    """In Markdown, such a line begins a block of HTML, so that the paragraph ends."""
    lines = (CHECKOUT / page).read_text().splitlines()
    assert [line for line in lines if re.match(r" {0,3}<!--demo [\w-]+-->.", line)] == []


def test_other_pages_have_no_numbers_of_the_demo() -> None:
    """The demo's mean regret; and every way to write that it takes half a minute."""
    pages = ["README.md", "benchmarks/README.md", *(f"docs/{path.name}" for path in (CHECKOUT / "docs").glob("*.md"))]
    for page in pages:
        text = demo.MARKED.sub("", (CHECKOUT / page).read_text())
        assert "<!--demo" not in text
        assert VALUES["regret"] not in text
        assert not re.search(r"demo[^|.]*\d+ (s|seconds) ", text) or page == "benchmarks/README.md", page


def test_an_old_number_is_replaced() -> None:
    old = "about <!--demo regret-->9.9 ± 0.1 %<!--/-->; about 99 s on one core"
    assert (
        demo.renewed(old, VALUES)
        == f"about <!--demo regret-->{VALUES['regret']}<!--/-->; about 35 to 100 s on one core"
    )


def test_the_record_is_of_the_demo_and_of_the_bundled_table() -> None:
    group, table = nb.load_run(demo.RECORD), nb.load_table("embedded")
    assert group.is_finished and [run.config["seed"] for run in group] == [0, 1, 2]
    for run in group:
        assert {name: run.config[name] for name in SCALES["quick"]} == SCALES["quick"]
        regrets = table.regret(run.architectures, reference="s1", split="test")
        assert run.config["table_id"] == table.id
        assert run.metrics["test_regret"].tolist() == pytest.approx(list(regrets))


def test_the_picture_shows_the_record() -> None:
    file = BytesIO()
    figure = demo.picture()
    figure.savefig(file, format="png", dpi=figure.dpi)
    with Image.open(demo.PICTURE) as shipped, Image.open(file) as drawn:
        assert shipped.info["Description"] == figure.caption
        assert shipped.size == drawn.size
        difference = np.abs(np.asarray(shipped.convert("L"), float) - np.asarray(drawn.convert("L"), float))
    assert (difference > 50).mean() < 0.002


def test_the_demo_announces_its_time_and_ends_with_a_command_for_its_search(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "nb1shot1"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "called: $*"\n')
    program.chmod(0o755)
    (tmp_path / ".core").touch()  # so that nothing is installed
    make = ["make", "--no-print-directory", "demo", f"VENV={tmp_path}"]
    first, *_, called, caution, last = subprocess.run(
        make, cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "about 35 to 100 s on one core" in first
    folder = called.rpartition(" ")[2]
    assert "random initial Λ" in caution and "does not show whether searching helps" in caution
    assert called == f"called: search --scale quick --out {folder}"
    assert last.endswith(f": {program} report {folder} --html {folder}.html")
