"""Lethe: agent memory that you can prove forgotten."""

__version__ = "0.1.0"
