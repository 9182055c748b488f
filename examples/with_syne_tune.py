"""Syne Tune: ASHA on the table of nb201 with four simulated workers, in Syne Tune's own simulator.

Needs `pip install "syne-tune[extra]"`. Syne Tune adds real seconds to the simulated ones.
"""

from syne_tune import StoppingCriterion, Tuner
from syne_tune.backend.simulator_backend.simulator_callback import SimulatorCallback
from syne_tune.blackbox_repository.simulated_tabular_backend import UserBlackboxBackend
from syne_tune.optimizer.baselines import ASHA

import nasbench1shot1 as nb

blackbox = nb.syne_tune_blackbox(nb.objective("nb201"))
tuner = Tuner(
    trial_backend=UserBlackboxBackend(blackbox, elapsed_time_attr="seconds", max_resource_attr="epochs", seed=0),
    scheduler=ASHA(
        {**blackbox.configuration_space, "epochs": 200},
        metric="validation_accuracy",  # its cost, the validation error
        do_minimize=True,
        time_attr="epochs",
        max_t=200,
        random_seed=0,
    ),
    stop_criterion=StoppingCriterion(max_num_trials_started=40),
    n_workers=4,
    sleep_time=0,
    callbacks=[SimulatorCallback()],
    save_tuner=False,
    print_update_interval=1e9,
)
tuner.run()
print(f"best validation error {tuner.tuning_status.overall_metric_statistics.min_metrics['validation_accuracy']:.4f}")
