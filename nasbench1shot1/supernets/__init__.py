"""Supernets: layers, presets, skeletons with places, and the ways in which a cell is computed.

The sub-package of each benchmark has the cell of its supernets in `supernet.py`, and its stand-alone network in
`network.py`. An architecture can be computed in four ways, which all use the operations of `layers` (for NAS-Bench-201,
also the operations of `nasbench201.layers`):

1. Mixed (`Supernet.forward` with mixing weights): all operations and edges, weighted. Methods that train mixtures use
   it (DARTS, PC-DARTS, SNAS), and so does every pass that has different mixing weights for each image.
2. A single path (`Supernet.forward` with `operations`, `path` or an Architecture): only the sampled operations, or only
   the parts with a path to the output. It must agree with the mixed way under one-hot weights, in values and gradients
   (tests/supernets/test_supernet_paths.py). On s1, a weight step of GDAS (`operations`) took 0.7 times as long as a
   mixed weight step, and a weight step of random-ws (`path`) 0.2 times (benchmarks/results/optimizer_speed.json).
3. Many paths with shared computations (`weight_sharing.SharedPasses`; for choice blocks `nasbench101.shared_passes`):
   class scores without gradients, for rankings and for methods that score candidates. Equal sub-graphs of the first
   cell are computed once, and batch-norm is folded into convolutions. It must agree with single paths to float
   tolerance, for every kind of batch-norm statistics (tests/supernets/test_shared_weights.py and
   tests/nasbench101/test_shared_passes.py). benchmarks/ranking_speed.py measures the speed-up. Other supernets,
   mixtures and GPUs use `weight_sharing.GenericPasses`, which calls `Supernet.forward`.
4. The stand-alone network (`networks.build_network`): the network that the benchmark trained, with its own widths and
   weights. It shares no weights with a supernet and need not agree with it. Its parameter count must equal the
   benchmark's (tests/nasbench101/test_network.py, tests/nasbench201/test_edge_network.py).
"""
