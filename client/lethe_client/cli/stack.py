"""Reads the outputs of a deployed stack."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypedDict, cast

from lethe_client.cli.failures import CommandError, UsageError

FetchOutputs = Callable[[str], Mapping[str, str]]


class _Output(TypedDict):
    OutputKey: str
    OutputValue: str


class _Stack(TypedDict, total=False):
    Outputs: Sequence[_Output]


class _Stacks(TypedDict):
    Stacks: Sequence[_Stack]


class _CloudFormation(Protocol):
    def describe_stacks(self, *, StackName: str) -> _Stacks: ...  # noqa: N803 - AWS's own name


_OF_THE_API = {"ApiUrl": "LETHE_URL"}
_VARIABLES = {"AccessTableName": "LETHE_ACCESS_TABLE", "MasterSecretArn": "LETHE_SECRET_ARN"}
_OF_THE_LEDGER = {"LedgerTableName": "LETHE_LEDGER_TABLE"}
_OF_RECEIPTS = {"ReceiptKeyArn": "LETHE_RECEIPT_KEY_ARN"}
_OF_THE_INDEX = {
    "SubjectsTableName": "LETHE_SUBJECTS_TABLE",
    "MemoriesTableName": "LETHE_MEMORIES_TABLE",
    "EmbedderName": "LETHE_EMBEDDER",
    "EmbedderAddress": "LETHE_EMBEDDER_URL",
    "EmbedderKeyArn": "LETHE_EMBEDDER_KEY_ARN",
    "SecondEmbedderName": "LETHE_SECOND_EMBEDDER",
    "SecondEmbedderAddress": "LETHE_SECOND_EMBEDDER_URL",
    "SecondEmbedderKeyArn": "LETHE_SECOND_EMBEDDER_KEY_ARN",
    "SearchUrl": "LETHE_OPENSEARCH_URL",
    "SearchFlavour": "LETHE_OPENSEARCH_FLAVOUR",
}


def environment_of_stack(name: str, fetch: FetchOutputs) -> dict[str, str]:
    """The address of the API, and the settings of tenants and keys, of the key that signs receipts, and of the search
    index where there is one: from the outputs of the stack.

    Raises:
        CommandError: the stack cannot be read with the AWS credentials of this shell.
        UsageError: the stack is not one of Lethe.
    """
    outputs = fetch(name)
    missing = [output for output in _VARIABLES if not outputs.get(output)]
    if missing:
        raise UsageError(f"the stack has no output {', '.join(missing)}: is it one of Lethe?")
    known = _OF_THE_API | _VARIABLES | _OF_THE_LEDGER | _OF_RECEIPTS | _OF_THE_INDEX
    return {variable: outputs[output] for output, variable in known.items() if outputs.get(output)}


def cloudformation_outputs(name: str) -> Mapping[str, str]:
    """The outputs of a stack that the AWS credentials of this shell may see. Raises CommandError."""
    import botocore.session
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        client = cast(_CloudFormation, botocore.session.get_session().create_client("cloudformation"))
        stack = client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "unknown")
        raise CommandError(f"CloudFormation does not give the stack: {code}") from error
    except BotoCoreError as error:
        raise CommandError(f"AWS cannot be reached: {error}") from error
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}
