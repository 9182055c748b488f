"""All claims by key, and their selection."""

from collections.abc import Sequence
from fnmatch import fnmatch

from nasbench1shot1.experiments.claims import nasbench101, nasbench201, nasbench_1shot1, nats_bench
from nasbench1shot1.experiments.claims.claim import Claim, Result
from nasbench1shot1.experiments.claims.evidence import Records
from nasbench1shot1.ground.errors import unknown_name

_OF_PAPERS = (nasbench_1shot1.CLAIMS, nasbench101.CLAIMS, nasbench201.CLAIMS, nats_bench.CLAIMS)
CLAIMS: dict[str, Claim] = {claim.key: claim for claims in _OF_PAPERS for claim in claims}
"""All claims by key, in the order of the papers."""


def selected(only: Sequence[str] = ()) -> list[Claim]:
    """Return some claims in the order of the papers.

    Args:
        only: keys, each with optional `*` wildcards. Default: all claims.

    Raises InvalidInputError if one of them matches no key.
    """
    for pattern in only:
        if not any(fnmatch(key, pattern) for key in CLAIMS):
            raise unknown_name("claim", pattern, CLAIMS)
    return [claim for key, claim in CLAIMS.items() if not only or any(fnmatch(key, pattern) for pattern in only)]


def judged(claims: Sequence[Claim], records: Records) -> list[Result]:
    """Return the results of some claims, from recorded runs and the bundled tables.

    Raises the errors of `Records.runs`.
    """
    return [Result(claim, claim.evidence.rows(records)) for claim in claims]
