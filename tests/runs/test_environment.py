import re
import subprocess
from pathlib import Path
from unittest.mock import patch

from nasbench1shot1.runs import machine

CHECKOUT = Path(__file__).resolve().parents[2]
MODULE = Path(machine.__file__).resolve().relative_to(CHECKOUT)


def test_the_commit_of_the_checkout_is_recorded(tmp_path: Path) -> None:
    for arguments in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "first"]):
        identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True)
    with patch.object(machine, "__file__", str(tmp_path / MODULE)):
        assert re.fullmatch("[0-9a-f]{40}", machine.environment("cpu")["git"])


def test_an_installed_package_records_no_commit(tmp_path: Path) -> None:
    with patch.object(machine, "__file__", str(tmp_path / MODULE)):
        assert machine.environment("cpu")["git"] is None
