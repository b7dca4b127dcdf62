"""The composition root: settings in, applications out. Everything is imported where it is built, so that a cold
start loads only what its function uses: the authorizer does without the routes, their models and numpy.
"""
