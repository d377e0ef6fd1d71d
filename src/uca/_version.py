"""The version, as it is installed."""

from importlib.metadata import version

__version__ = version("unique-component-analysis")
