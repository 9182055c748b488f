"""Building of the embedded table: estimates for every cell from a sample of measurements."""

from nasbench1shot1.nasbench101.embedded_table import build as build
from nasbench1shot1.nasbench101.estimation import QUICK as QUICK
from nasbench1shot1.nasbench101.estimation import Settings as Settings
