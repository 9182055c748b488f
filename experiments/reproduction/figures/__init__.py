"""The figures and tables of the papers, and own studies, as data.

Each names its runs, how they are pooled, and the class in `results` that draws them.

- `parts`: what figures consist of. `catalogue`: all of them by name.
- One file per paper or study: `nasbench_1shot1`, `nasbench201`, `nats_bench`, `black_box`, `methods`, `collapse`.
"""
