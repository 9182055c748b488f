"""The benchmark as OptunaHub loads it."""

from .problem import Problem

__all__ = ["Problem"]
