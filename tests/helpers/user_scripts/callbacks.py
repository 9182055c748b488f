"""Callbacks, processes, errors."""

import pickle
from multiprocessing import Pool

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.callbacks import Epoch


def show(epoch: Epoch) -> None:
    if epoch.line["epoch"] % 5 == 0:
        print(epoch.line["epoch"], epoch.architecture, epoch.architecture_parameters["operations"].mean())


class Stop:
    def __call__(self, epoch: Epoch) -> None:
        print(epoch)


run = nb.search("gdas", scale="quick", callbacks=[show, Stop()], out="runs/gdas-shown")
resumed = nb.search(resume="runs/gdas-shown", epochs=20)


def score(arch: nb.Architecture) -> float:
    return float(nb.load_table().query(arch).test_accuracy)


with Pool(2) as pool:
    space = nb.search_space("s1")
    print(pool.map(score, [space.sample(np.random.default_rng(n)) for n in range(4)]))
same = pickle.loads(pickle.dumps(space)) == space  # noqa: S301
frame = nb.study_from_frame(run.metrics, "s1")
images = nb.load_images("cifar10-sample")
print(images.images.shape, images.labels, images.to("cpu"))
try:
    nb.search_space("no")
except (nb.InvalidInputError, nb.DamagedFileError, nb.OutOfDomainError, nb.UserError) as error:
    print(error)
