"""A hook package of one module: `app = "announce_hooks:hooks"` in hookline.toml wires it."""

from hookline import Event, Hooks


class AnnounceFailure:
    """Say on standard output that a batch failed."""

    name = "announce"

    async def handle(self, event: Event) -> None:
        """Print one line; raise when the payload is not what a failed batch carries."""
        print(f"{event.payload['batch_id']} failed: {event.payload['error']}", flush=True)


hooks = Hooks({"batch.failed": [AnnounceFailure()]})
