"""Training sampled architectures, each alone, in the supernet's fixed-width network; this imports no torch."""

from nasbench1shot1.proxy_training.config import ProxyConfig as ProxyConfig
from nasbench1shot1.proxy_training.record import ProxyTrainings as ProxyTrainings
from nasbench1shot1.proxy_training.running import train_proxies as train_proxies
