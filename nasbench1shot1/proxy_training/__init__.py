"""Train sampled architectures without weight sharing, each in the supernet's network; importing does not load torch."""

from nasbench1shot1.proxy_training.record import ProxyConfig as ProxyConfig
from nasbench1shot1.proxy_training.record import ProxyTrainings as ProxyTrainings
from nasbench1shot1.proxy_training.running import train_proxies as train_proxies
