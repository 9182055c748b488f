"""Comparison with TensorFlow's optimizer, layers and initialisers; skipped if TensorFlow is missing."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.network import initialise
from nasbench1shot1.nasbench101.recipe import TensorFlowRMSProp, learning_rate
from nasbench1shot1.supernets.layers import ConvBNReLU

pytestmark = pytest.mark.filterwarnings("ignore")  # TensorFlow's own


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow", reason="tensorflow is not installed: pip install '.[tensorflow]'")


def test_rmsprop_agrees_with_tensorflow(tf):
    """L2 loss, zero rate in the first step and cosine schedule agree after twelve steps."""
    rng = np.random.default_rng(0)
    start, x, y = rng.normal(size=(5, 3)), rng.normal(size=(12, 20, 5)), rng.normal(size=(12, 20, 3))
    weights = torch.nn.Parameter(torch.tensor(start, dtype=torch.float32))
    optimizer = TensorFlowRMSProp([weights], lr=0.2, weight_decay=1e-2)
    variable, rate = tf.Variable(start.astype(np.float32)), tf.Variable(0.0)
    theirs = tf.compat.v1.train.RMSPropOptimizer(rate, momentum=0.9, epsilon=1.0)
    for step in range(12):
        optimizer.param_groups[0]["lr"] = learning_rate(step, 12, 0.2)
        rate.assign(optimizer.param_groups[0]["lr"])
        images, wanted = (part[step].astype(np.float32) for part in (x, y))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(images @ variable - wanted)) + 1e-2 * tf.nn.l2_loss(variable)
        theirs.apply_gradients([(tape.gradient(loss, variable), variable)])
        optimizer.zero_grad()
        (torch.from_numpy(images) @ weights - torch.from_numpy(wanted)).square().sum().backward()
        optimizer.step()
        np.testing.assert_allclose(weights.detach().numpy(), variable.numpy(), rtol=2e-5, atol=1e-6)
    assert np.abs(variable.numpy() - start).max() > 0.1
    for name, slot in (("rms", "rms"), ("momentum", "momentum")):
        ours = optimizer.state[weights][name].numpy()
        np.testing.assert_allclose(ours, theirs.get_slot(variable, slot).numpy(), rtol=1e-4, atol=1e-6)


def test_convolution_batch_norm_and_relu_agree_with_tensorflow(tf):
    generator = torch.Generator().manual_seed(0)
    layer = ConvBNReLU(3, 4, 3, momentum=0.003)
    layer.bn.weight.data.uniform_(0.5, 2, generator=generator)
    layer.bn.bias.data.normal_(generator=generator)
    x = torch.randn(8, 3, 9, 9, generator=generator)
    kernel = layer.conv.weight.detach().permute(2, 3, 1, 0).numpy()
    convolved = tf.nn.conv2d(x.permute(0, 2, 3, 1).numpy(), kernel, strides=1, padding="SAME")
    scale, shift = layer.bn.weight.detach().numpy(), layer.bn.bias.detach().numpy()
    mean, variance = np.zeros(4, np.float32), np.ones(4, np.float32)
    for _ in range(3):
        theirs, mean, variance = tf.compat.v1.nn.fused_batch_norm(
            convolved, scale, shift, mean, variance, epsilon=1e-5, is_training=True, exponential_avg_factor=0.003
        )
        ours = layer(x).permute(0, 2, 3, 1).detach().numpy()
        np.testing.assert_allclose(ours, tf.nn.relu(theirs).numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.bn.running_mean.numpy(), mean.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.bn.running_var.numpy(), variance.numpy(), rtol=1e-5)
    theirs = tf.compat.v1.nn.fused_batch_norm(convolved, scale, shift, mean, variance, epsilon=1e-5, is_training=False)
    ours = layer.eval()(x).permute(0, 2, 3, 1).detach().numpy()
    np.testing.assert_allclose(ours, tf.nn.relu(theirs[0]).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [7, 8])
def test_pooling_agrees_with_tensorflows_same_padding(tf, size):
    from nasbench1shot1.supernets.layers import max_pool_3x3

    x = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))
    last = x.permute(0, 2, 3, 1).numpy()
    halved = F.max_pool2d(x, kernel_size=2, stride=2, ceil_mode=True)
    for ours, window, stride in ((max_pool_3x3(x), 3, 1), (halved, 2, 2)):
        theirs = tf.nn.max_pool2d(last, ksize=window, strides=stride, padding="SAME").numpy()
        np.testing.assert_array_equal(ours.permute(0, 2, 3, 1).numpy(), theirs)


def test_initial_weights_follow_tensorflows_distribution(tf):
    net = nb.build_network(nb.Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"))
    initialise(net, torch.Generator().manual_seed(0))
    kernel = net.cells[-1].convolutions["1"].conv.weight.detach().numpy()
    pairs = [
        (kernel, tf.compat.v1.variance_scaling_initializer(seed=0), (3, 3, kernel.shape[1], kernel.shape[0])),
        (net.classifier.weight.detach().numpy(), tf.compat.v1.glorot_uniform_initializer(seed=0), (512, 10)),
    ]
    for ours, initialiser, shape in pairs:
        theirs = np.asarray(initialiser(shape)).ravel()
        assert ours.size == theirs.size
        tolerance = 6 / np.sqrt(ours.size)  # error of quantiles of this many draws, in standard deviations
        for quantile in (0.001, 0.02, 0.16, 0.5, 0.84, 0.98, 0.999):
            difference = np.quantile(ours, quantile) - np.quantile(theirs, quantile)
            assert abs(difference) < tolerance * theirs.std()
        assert ours.std() == pytest.approx(theirs.std(), rel=0.02)
        assert np.abs(ours).max() == pytest.approx(np.abs(theirs).max(), rel=0.01)
