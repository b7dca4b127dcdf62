"""The edge: settings, wiring, HTTP, problem documents, idempotency, observability."""
