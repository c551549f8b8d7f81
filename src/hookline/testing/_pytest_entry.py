"""What the entry point names: it only names the plug-in.

A test suite may name the same module in its `pytest_plugins`, and pytest refuses one module under two names.
"""

pytest_plugins = ["hookline.testing.pytest_plugin"]
