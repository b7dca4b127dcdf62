"""The story of `make demo`: two people tell an agent about their lives, it remembers, and one of them is forgotten.

`content` reads the conversations (data files beside it), `screen` prints, `play`, `why`, `ask`, `walls` and `forget`
are the chapters, `stores` looks behind the API for them, `story` tells them in order. Whatever the demo claims it
checks against the answers of the service; a claim that fails is said so and makes the exit status 1.
"""
