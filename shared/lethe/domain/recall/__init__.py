"""The stages of recall: pure functions from candidates to candidates that write their reasons down."""
