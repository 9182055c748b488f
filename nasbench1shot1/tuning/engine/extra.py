"""The check that the packages of the extra [tune] are installed."""

from importlib.util import find_spec

from nasbench1shot1.errors import UserError


def require_hpbandster() -> None:
    """Raise UserError if hpbandster is not installed."""
    if find_spec("hpbandster") is None:
        raise UserError("tuning needs hpbandster: in a checkout, run pip install '.[tune]'")
