"""Building of the embedded table: estimates for every cell from a sample of measurements."""

from nasbench1shot1.nasbench101.estimation import QUICK as QUICK
from nasbench1shot1.nasbench101.estimation import Settings as Settings
from nasbench1shot1.table_building.assemble import build as build
