"""The replacement for `nasbench.api`."""

import numpy as np

from nasbench1shot1 import api

nasbench = api.NASBench("nasbench_full.tfrecord", seed=0)
spec = api.ModelSpec(
    matrix=[[0, 1, 1], [0, 0, 1], [0, 0, 0]],
    ops=["input", "conv1x1-bn-relu", "output"],
)
api.ModelSpec(np.triu(np.ones((3, 3), int), 1), ["input", "conv1x1-bn-relu", "output"])
data = nasbench.query(spec)
print(data["validation_accuracy"], nasbench.get_budget_counters())
fixed, computed = nasbench.get_metrics_from_spec(spec)
print(computed[108][0]["final_test_accuracy"], nasbench.is_valid(spec), len(nasbench.hash_iterator()))
try:
    nasbench.query(spec, epochs=12, stop_halfway=True)
except api.OutOfDomainError as error:
    print(error)
print(spec.hash_spec(["conv1x1-bn-relu"]))
