"""What a command fails with."""


class UsageError(Exception):
    """The command cannot be run as it was typed, or nothing says where to run it; exit status 2."""


class CommandError(Exception):
    """The command was run and did not succeed; exit status 1."""
