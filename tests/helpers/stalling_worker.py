"""A worker of `reproduce` that stalls once epoch 1 is recorded, so that a test can kill it there for certain."""

import sys
import time

from nasbench1shot1.experiments.reproduction import worker
from nasbench1shot1.one_shot_search import loop


def record_and_stall(state, writer, line, parameters, real=loop.record_epoch):
    real(state, writer, line, parameters)
    if line["epoch"] == 1:
        time.sleep(3600)


if __name__ == "__main__":
    loop.record_epoch = record_and_stall
    worker.main(sys.argv[1:])
