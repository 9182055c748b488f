"""Results of the finished runs of figures: CSV files, pictures and summaries on the screen.

- `base`: what all results share. A `Figure` names its class of results as its `drawing`.
- NAS-Bench-1Shot1: `regrets`, `rankings`, `trajectories`, `importances`, `transfers`, `proxies`.
- Other papers: `black_box`, `nasbench201`, `nats_bench`. Own studies: `methods`, `collapse`.
"""
