"""How long an erasure takes, and what it costs beside a bare deletion of the same keys."""
