"""Drop-in replacement for `nasbench.api`: the same names, calls and results, without TensorFlow.

    from nasbench1shot1 import api          # was: from nasbench import api

docs/api.md describes the differences. The modules `nats_bench` and `nas_201_api` replace the packages with these names.
"""

from nasbench1shot1.api.model_spec import ModelSpec as ModelSpec
from nasbench1shot1.api.nasbench import NASBench as NASBench
from nasbench1shot1.ground.errors import OutOfDomainError as OutOfDomainError
