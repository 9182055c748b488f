"""`nb1shot1 export`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.ground.errors import InvalidInputError, flag, shell_word
from nasbench1shot1.ground.text import print_to_stdout
from nasbench1shot1.runs.options import Form

if TYPE_CHECKING:
    from nasbench1shot1.tuning.record import Study


@dataclass(frozen=True)
class Export:
    """Write a study in the format of another tool. The study is not changed, and may still be running.

    nb1shot1 export runs/tune-darts-s1-bohb-0 --optuna study.journal
    """

    study: Annotated[Positional[Path], Form("STUDY")]
    """The folder of a study of nb1shot1 tune."""
    optuna: Path | None = None
    """New Optuna journal file, with a trial per search; optuna-dashboard FILE shows it."""
    deepcave: Path | None = None
    """New folder for DeepCAVE, with configspace.csv and trials.csv."""

    def run(self) -> None:
        """Write the files and print their paths."""
        from nasbench1shot1.ground.text import counted

        if self.optuna is None and self.deepcave is None:
            raise InvalidInputError(f"no format is selected: give {flag('optuna')} or {flag('deepcave')}")
        study = self._study()
        if self.optuna is not None:
            from nasbench1shot1.tuning.export import export_optuna

            number = export_optuna(study, self.optuna)
            print_to_stdout(f"{counted(number, 'trial')}: {self.optuna}")
            print_to_stdout(f"To view it: pip install optuna-dashboard && optuna-dashboard {shell_word(self.optuna)}")
        if self.deepcave is not None:
            from nasbench1shot1.tuning.deepcave import export_deepcave

            number = export_deepcave(study, self.deepcave)
            print_to_stdout(f"{counted(number, 'trial')}: {self.deepcave}")

    def _study(self) -> "Study":
        """Open the study; raises InvalidInputError for a black-box study, whose trainings are not recorded."""
        from nasbench1shot1.black_box_search.record import BlackBoxStudy
        from nasbench1shot1.runs.folder import read_description
        from nasbench1shot1.tuning.record import Study

        if read_description(self.study)[0] == BlackBoxStudy.KIND:
            raise InvalidInputError(
                f"'{self.study}' is a black-box study, which records incumbents, but not all of its trainings: export "
                "a study of nb1shot1 tune"
            )
        return Study.open(self.study)
