"""`nb1shot1 export`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.ground.text import print_to_stdout
from nasbench1shot1.runs.options import Form


@dataclass(frozen=True)
class Export:
    """Write a study in the format of another tool. The study is not changed, and may still be running.

    nb1shot1 export runs/tune-darts-s1-bohb-0 --optuna study.journal
    """

    study: Annotated[Positional[Path], Form("STUDY")]
    """The folder of a study of nb1shot1 tune."""
    optuna: Path
    """New Optuna journal file, with a trial per search; optuna-dashboard FILE shows it."""

    def run(self) -> None:
        """Write the file and print its path."""
        from nasbench1shot1.ground.text import counted
        from nasbench1shot1.tuning.export import export_optuna
        from nasbench1shot1.tuning.record import Study

        number = export_optuna(Study.open(self.study), self.optuna)
        print_to_stdout(f"{counted(number, 'trial')}: {self.optuna}")
        print_to_stdout(f"To view it: pip install optuna-dashboard && optuna-dashboard {self.optuna}")
