"""How fast the functions answer: latency by step, round trips, batches, cold starts, and mem0 beside them."""
