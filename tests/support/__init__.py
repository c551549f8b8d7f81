"""What tests share: real and embedded Kafka, waiting, a command runner and an HTTP receiver.

Import from the modules: `tests.support.kafka`, `.waiting`, `.ports`, `.receiver`, `.command_line`, `.missing`.
"""
