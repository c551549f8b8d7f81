"""An outage of one dependency of three, in each way of keeping hooks apart."""
