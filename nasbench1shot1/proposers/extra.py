"""The check that the packages of the extra [tune] are installed."""

from importlib.util import find_spec

from nasbench1shot1.ground.errors import UserError


def require_extra(package: str, what: str = "tuning") -> None:
    """Raise UserError if a package of the extra [tune] is not installed; `what` is the feature that needs it."""
    if find_spec(package) is None:
        raise UserError(f"{what} needs {package}: in a checkout, run pip install '.[tune]'")
