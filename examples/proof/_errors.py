"""Why there is no proof."""


class ProofError(Exception):
    """The stage does not run, or there is nothing that could be proved."""
