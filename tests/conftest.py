"""Fixtures that every test module may use."""

pytest_plugins = ["tests.databases"]
