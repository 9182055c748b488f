"""Training of sampled architectures without weight sharing, in the supernet's network; importing it skips torch."""

from nasbench1shot1.proxy_training.config import ProxyConfig as ProxyConfig
from nasbench1shot1.proxy_training.record import ProxyTrainings as ProxyTrainings
from nasbench1shot1.proxy_training.running import train_proxies as train_proxies
