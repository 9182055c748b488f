"""Reading JSON: what no valid encoder writes is one sentence that names the file."""

from pathlib import Path

import pytest
from refusals import refuses

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import parse_json, read_json
from nasbench1shot1.runs.folder import read_lines

REFUSED = {
    "NaN": '{"a": NaN}',
    "infinite": '{"a": [-Infinity]}',
    "too large for a float": '{"a": {"b": 1e400}}',
    "the same key twice": '{"seed": 1, "a": {}, "seed": 2}',
    "half of a surrogate pair": r'{"a": "\ud800"}',
    "half of a surrogate pair in a key": r'{"\uDFFF": 1}',
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_no_encoder_writes_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with refuses(DamagedFileError, tmp_path / "a.json"):
        read_json(tmp_path / "a.json")
    (tmp_path / "a.jsonl").write_text(f'{{"a": 1}}\n{text}\n')
    with refuses(DamagedFileError, tmp_path / "a.jsonl"):
        read_lines(tmp_path / "a.jsonl")


def test_an_equal_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(REFUSED["the same key twice"])
    with refuses(DamagedFileError, "'seed'"):
        read_json(tmp_path / "a.json")


def test_valid_json_is_read_as_written() -> None:
    text = r'{"pair": "\ud83d\ude00", "backslash": "\\ud800", "large": 1e308, "whole": 123456789012345678901234567890}'
    expected = {"pair": "\U0001f600", "backslash": r"\ud800", "large": 1e308, "whole": 123456789012345678901234567890}
    assert parse_json(text) == expected
