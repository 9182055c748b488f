"""Train the network of one architecture with its benchmark's protocol; importing this package does not import torch.

The options and the record belong to the benchmark: `nasbench101.training_options` has `TrainingConfig`,
`nasbench201.training_options` has `EdgeTrainingConfig`.
"""

from nasbench1shot1.cell_training.record import Evaluation as Evaluation
from nasbench1shot1.cell_training.record import Training as Training
from nasbench1shot1.cell_training.record import load_training as load_training
from nasbench1shot1.cell_training.training import train_and_evaluate as train_and_evaluate
from nasbench1shot1.cell_training.training import train_cell as train_cell
