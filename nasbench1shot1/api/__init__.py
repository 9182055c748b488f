"""Drop-in for `nasbench.api`."""
