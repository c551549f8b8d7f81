"""What the examples stand on: a broker, a fresh domain, its stage in a process of its own, and the proof of what it wrote.

There is one error of their own, `ProofError`: the stage does not run, or there is nothing that could be proved.
"""

from examples.proof._arguments import arguments_of, parse
from examples.proof._checks import Document, Proof, check
from examples.proof._errors import ProofError
from examples.proof._prove import Send, prove

__all__ = ["Document", "Proof", "ProofError", "Send", "arguments_of", "check", "parse", "prove"]
