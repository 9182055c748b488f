"""Importing an archive of NATS-Bench: time, memory, and size of the table.

    python benchmarks/archive_import.py ARCHIVE [--architectures N] [--folder FOLDER]

ARCHIVE is a folder in the official format with at least one architecture, such as those in `fake_torch_dir` of
D-X-Y/NATS-Bench. Its records are copied to N architectures (default: 1,000) in FOLDER, the system's folder of temporary
files if not given. The sizes for the whole space are extrapolated. The import runs in a process of its own.
"""

import argparse
import bz2
import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, cast

from nasbench1shot1.ground.plain_pickle import load_plain_pickle
from nasbench1shot1.trial_files.archives import NATS_META, PBZ2
from nasbench1shot1.trial_files.description import trainings_of

IMPORT = """
import json, sys, time
from nasbench1shot1.tables.importing import import_table
started = time.perf_counter()
import_table(sys.argv[1], sys.argv[2], report=lambda line: None)
with open("/proc/self/status") as status:
    peak = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps({"seconds": time.perf_counter() - started, "processor": time.process_time(), "peak": peak}))
"""


def load(file: Path) -> Any:
    with bz2.open(file) as unpacked:
        return load_plain_pickle(cast(IO[bytes], unpacked), str(file))


def plain(record: Any) -> Any:
    """Return a record whose NumPy numbers are Python's, in the classes that this script may pickle."""
    if isinstance(record, dict):
        return {key: plain(value) for key, value in record.items()}
    return [plain(value) for value in record] if isinstance(record, list) else getattr(record, "item", lambda: record)()


def copy_records(archive: Path, folder: Path, architectures: int) -> int:
    """Write the records of an archive under the names of N architectures; return the number of all architectures."""
    meta, files = load(archive / NATS_META), sorted(archive.glob(f"[0-9]*{PBZ2}"))
    of = trainings_of(meta["meta_archs"][0])
    if of is None or not files:
        sys.exit(f"{archive} is not an archive of NATS-Bench with at least one architecture")
    names, records = meta["meta_archs"], [plain(load(file)) for file in files]
    (folder / NATS_META).write_bytes(bz2.compress(pickle.dumps({"meta_archs": names})))
    for index in range(architectures):
        record = records[index % len(records)]
        for results in record.values():
            results["arch_index"], results["arch_str"] = index, names[index]
        (folder / f"{index:06d}{PBZ2}").write_bytes(bz2.compress(pickle.dumps(record), 1))
    return len(names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--architectures", type=int, default=1_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder, table = Path(made) / "archive", Path(made) / "table"
        folder.mkdir()
        whole = copy_records(options.archive, folder, options.architectures)
        run = [sys.executable, "-c", IMPORT, str(folder), str(table)]
        found = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        size = sum(file.stat().st_size for file in table.glob("*.npy"))
        largest = max(table.glob("*.npy"), key=lambda file: file.stat().st_size).name
    scale = whole / options.architectures
    print(
        f"{options.architectures:,} architectures: {found['seconds']:.1f} s ({found['processor']:.1f} s of CPU), at "
        f"most {found['peak'] / 1e6:.0f} MB of memory, {size / 1e6:.1f} MB on disk\n"
        f"all {whole:,} at this rate: {found['processor'] * scale / 60:.1f} min of CPU, {size * scale / 1e6:.0f} MB; "
        f"largest column {largest}"
    )


if __name__ == "__main__":
    main()
