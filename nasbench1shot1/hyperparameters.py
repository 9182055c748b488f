"""The base class of the options that belong to one optimizer, one-shot or black-box."""

from dataclasses import dataclass

from nasbench1shot1.runs.options import check_ranges


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """The options of one optimizer. Subclasses declare fields, each with a default and a docstring.

    The fields become options of runs with this optimizer: arguments of `nb.search` or `nb.black_box`, options on the
    command line, and entries of config.json. A field must not have the name of a common option
    (`one_shot_search.config.SearchConfig` or `black_box_search.options.BlackBoxConfig`) or a reserved name (`RESERVED`
    in the module `options` of either package).
    """

    def check(self) -> None:
        """Raise InvalidInputError for values that contradict each other or are outside the ranges of their fields.

        A field's annotation declares its range: `population: Annotated[int, Range(2)] = 20` (`runs.options.Range`).
        """
        check_ranges(self)
