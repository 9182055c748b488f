"""The figures and tables of the papers, and own studies, as data: each is a list of runs, a pooling and a drawing.

- `parts`: what figures consist of. `catalogue`: all of them by name.
- One file per paper or study: `nasbench_1shot1`, `nasbench201`, `nats_bench`, `black_box`, `methods`, `collapse`.

`results` has the classes that draw them.
"""
