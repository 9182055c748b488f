"""Building of the embedded table: estimates for every cell from a sample of measurements."""

from nasbench1shot1.table_building.assemble import build as build
from nasbench1shot1.table_building.regression import QUICK as QUICK
from nasbench1shot1.table_building.regression import Settings as Settings
