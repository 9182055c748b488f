import re
import subprocess
from pathlib import Path
from unittest.mock import patch

from nasbench1shot1.runs import environment

CHECKOUT = Path(__file__).resolve().parents[2]
MODULE = Path(environment.__file__).resolve().relative_to(CHECKOUT)


def test_the_commit_of_the_checkout_is_recorded(tmp_path: Path) -> None:
    for arguments in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "first"]):
        identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True)
    with patch.object(environment, "__file__", str(tmp_path / MODULE)):
        assert re.fullmatch("[0-9a-f]{40}", environment.environment("cpu")["git"])


def test_an_installed_package_records_no_commit(tmp_path: Path) -> None:
    with patch.object(environment, "__file__", str(tmp_path / MODULE)):
        assert environment.environment("cpu")["git"] is None
