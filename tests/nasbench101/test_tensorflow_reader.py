"""With TensorFlow: both readers yield the same records, and files of its writer can be imported."""

import hashlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import official_files as official
import pytest

from nasbench1shot1.nasbench101.tfrecords import frames
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tables.table import load_table

pytestmark = pytest.mark.skipif(
    find_spec("tensorflow") is None, reason="tensorflow is not installed: pip install '.[tensorflow]'"
)

# In a separate process, because TensorFlow emits warnings and starts threads.
READ = """
import hashlib, json, sys
import tensorflow as tf
records = [row.numpy() for row in tf.data.TFRecordDataset(sys.argv[1])]
print(json.dumps([hashlib.sha256(record).hexdigest() for record in records]))
"""
WRITE = """
import sys
import tensorflow as tf
with tf.io.TFRecordWriter(sys.argv[2]) as writer:
    for record in tf.data.TFRecordDataset(sys.argv[1]):
        writer.write(record.numpy())
"""


def tensorflow(code: str, *paths: Path) -> str:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    line = [sys.executable, "-c", code, *map(str, paths)]
    return subprocess.run(line, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture
def file(tmp_path: Path, real_cells: Path) -> Path:
    trainings = official.made_up(official.graphs_of(real_cells, slice(0, 30)))
    return official.write_file(tmp_path / "a.tfrecord", trainings)


def test_both_readers_yield_the_same_records(file: Path) -> None:
    ours = [hashlib.sha256(payload).hexdigest() for _, payload in frames(file)]
    assert len(ours) == 30 * 4 * 3
    assert json.loads(tensorflow(READ, file)) == ours


def test_files_written_by_tensorflow_can_be_imported(file: Path, tmp_path: Path) -> None:
    written = tmp_path / "b.tfrecord"
    tensorflow(WRITE, file, written)
    assert written.read_bytes() == file.read_bytes()
    import_table(file, tmp_path / "a")
    import_table(written, tmp_path / "b")
    ours, theirs = load_table(tmp_path / "a"), load_table(tmp_path / "b")
    assert ours.id.removeprefix("a-") == theirs.id.removeprefix("b-")
