"""A search loop of one's own, with Λ as tensors, arrays and modules."""

import numpy as np
import torch
from torch.nn.functional import cross_entropy, softmax

import nasbench1shot1 as nb

torch.manual_seed(0)
space, images = nb.search_space("s1"), nb.load_images("cifar10-sample").downsample(16)
halves = nb.split_images(images, "20k/20k", np.random.default_rng(0), images_per_half=320)
augment = nb.Augmentation.of(images)
net = nb.Supernet(space, channels=4, cells=3)
parameters = {key: (1e-3 * torch.randn(shape)).requires_grad_() for key, shape in space.mixing_shapes().items()}
sgd = torch.optim.SGD(net.parameters(), lr=0.025, momentum=0.9, weight_decay=3e-4)
adam = torch.optim.Adam(parameters.values(), lr=3e-3, betas=(0.5, 0.999), weight_decay=1e-3)
with nb.Recorder("runs/own-darts", space, optimizer="own-darts", notes={"learning_rate": 0.025}) as recorder:
    recorder.record(parameters)
    for epoch in range(1, 4):
        drawn = torch.Generator().manual_seed(epoch)
        pairs = [nb.image_batches(images, half, 64, drawn, augment) for half in (halves.weights, halves.architecture)]
        loss = torch.zeros(())
        for weight_batch, architecture_batch in zip(*pairs, strict=True):
            for optimizer, (x, labels) in ((adam, architecture_batch), (sgd, weight_batch)):
                loss = cross_entropy(net(x, {key: softmax(value, dim=-1) for key, value in parameters.items()}), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        largest = max(value.max() for value in parameters.values())
        recorder.record(parameters, train_loss=loss, largest=largest)

run = nb.load_run("runs/own-darts")
print(run.metrics[["epoch", "test_regret", "train_loss", "largest"]])

arrays = {key: np.zeros(shape, np.float32) for key, shape in space.mixing_shapes().items()}
module = torch.nn.ParameterDict(
    {key: torch.nn.Parameter(torch.zeros(shape)) for key, shape in space.mixing_shapes().items()}
)
recorder = nb.Recorder.resume("runs/own-darts", after_epoch=2)
fields = recorder.record(
    arrays, train_loss=np.float32(0.5), seconds=np.float64(3.0), own=np.mean([1.0]), none=None, steps=3
)
recorder.record(module, hessian_eigenvalue=torch.tensor(1.0), best=np.float32(2))
recorder.record(space[5], train_error=np.int64(0))
print(fields["test_regret"], recorder.epoch, recorder.finish().summary["test_regret"])
for name in ("s1", "nb201"):
    with nb.Recorder(f"runs/{name}", name, table=nb.load_table(), seed=1, bounds={"flops": 1e8}) as one:
        one.record(nb.search_space(name)[0])
