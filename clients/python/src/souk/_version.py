"""The version of this package; a test compares it with pyproject.toml."""

VERSION = "1.0.0"
