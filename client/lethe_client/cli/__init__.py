"""The `lethe` command. `main` is its entry point; each group of commands is a module of its own."""

from lethe_client.cli.app import main

__all__ = ["main"]
