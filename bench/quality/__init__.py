"""Retrieval quality, measured with the product's own analysis, features and model (docs/adr/0003)."""
