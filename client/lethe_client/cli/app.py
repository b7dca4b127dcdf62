"""Parses the command line, runs the command, turns failures into exit statuses.

0: done. 1: the command ran and did not succeed. 2: it could not be run as typed.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from lethe_client.cli import audit, cost, erasure, holds, index, keys, ledger, memory, receipt, tenants
from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.output import Output
from lethe_client.cli.surroundings import Surroundings, real_surroundings
from lethe_client.errors import LetheError

Run = Callable[[argparse.Namespace, Surroundings, Output], None]


def main(argv: Sequence[str] | None = None, around: Surroundings | None = None) -> int:
    """Run one command and give its exit status; `argv` is without the program's name."""
    world = around or real_surroundings()
    options = _parser().parse_args(sys.argv[1:] if argv is None else argv)
    run: Run = options.run
    try:
        if options.without_stack and options.stack is not None:
            raise UsageError("this command works on no stack: leave --stack out")
        run(options, world, Output(world.out, options.json))
    except UsageError as error:
        print(f"lethe: {error}", file=world.err)
        return 2
    except (CommandError, LetheError) as error:
        print(f"lethe: {error}", file=world.err)
        return 1
    except BrokenPipeError:
        # The reader of a pipe has seen enough (`| head`). Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), world.out.fileno())
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lethe", description="Agent memory that you can prove forgotten.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--stack",
        metavar="NAME",
        help="work on a deployed CloudFormation stack; what goes over HTTP takes its key from LETHE_API_KEY",
    )
    # The same options after the command, as many people type them.
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--json", action="store_true", help="print JSON")
    on_stack = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS, parents=[common])
    on_stack.add_argument("--stack", metavar="NAME", help="work on a deployed CloudFormation stack")
    # Defaults are inherited from parents: the command says whether it would leave --stack unread.
    common.set_defaults(without_stack=True)
    on_stack.set_defaults(without_stack=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    tenants.add_commands(commands, on_stack)
    keys.add_commands(commands, on_stack)
    index.add_commands(commands, on_stack)
    audit.add_commands(commands, on_stack)
    ledger.add_commands(commands, on_stack)
    cost.add_commands(commands, common)
    memory.add_commands(commands, on_stack)
    erasure.add_commands(commands, on_stack)
    holds.add_commands(commands, on_stack)
    receipt.add_commands(commands, common, on_stack)
    return parser
