"""Erasure: what starts it, what it does step by step, how it is verified and proved."""
