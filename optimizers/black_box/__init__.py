"""Black-box optimizers, one module per method; every class is an `nb.BlackBoxOptimizer`."""
