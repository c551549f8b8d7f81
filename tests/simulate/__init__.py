"""A deterministic simulation of the engine: the real one on a fake Kafka, with hooks by script, in virtual time.

`python -m tests.simulate --seconds 60` runs random histories, each from one seed, and checks the promises at every step.
"""
