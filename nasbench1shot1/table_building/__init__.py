"""How the embedded table is made: from a sample of real measurements to an estimate for every cell."""

from nasbench1shot1.table_building.assemble import build as build
from nasbench1shot1.table_building.regression import QUICK as QUICK
from nasbench1shot1.table_building.regression import Settings as Settings
