"""Black-box optimizers, one file for each method; every class is an `nb.BlackBoxOptimizer`."""
