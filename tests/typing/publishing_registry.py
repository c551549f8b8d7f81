# a host that has registered the key
from hookline import HookPublisher
from hookline.kafka import ClientConfig
from hookline.publish import TopicRegistry

registry = TopicRegistry({"hook": "submitqueue-hook"})
publisher = HookPublisher(ClientConfig(common={"bootstrap.servers": "kafka:9092"}), registry)
