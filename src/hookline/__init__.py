"""Durable hook events on Kafka."""
