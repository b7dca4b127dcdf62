"""How fast the functions answer: latency by step, round trips, batches, cold starts, and mem0 beside them."""

import os

# numpy reads it when it is imported. The template gives it to every function: on a busy machine threads of numpy's own
# wait for each other longer than a whole search takes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
