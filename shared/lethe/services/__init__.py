"""Use cases: one module each, over the ports."""
