"""Drop-in for `nasbench.api`: the same names, calls and answers, without TensorFlow.

    from nasbench1shot1 import api          # was: from nasbench import api

docs/api.md describes the differences. The modules `nats_bench` and `nas_201_api` are drop-ins for the packages of these
names.
"""

from nasbench1shot1.api.model_spec import ModelSpec as ModelSpec
from nasbench1shot1.api.nasbench import NASBench as NASBench
from nasbench1shot1.errors import OutOfDomainError as OutOfDomainError
