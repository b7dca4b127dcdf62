"""The story of `make demo`: two people tell an agent about their lives, and it remembers.

`content` reads the conversations (data files beside it), `screen` prints, `play`, `why`, `ask` and `walls`
are the chapters, `story` tells them in order. Whatever the demo claims it checks against the answers of the
service; a claim that fails is said so and makes the exit status 1.
"""
