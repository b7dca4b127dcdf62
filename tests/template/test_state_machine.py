"""The state machine of erasure: every task guarded, nothing handed on but names, and a drain as long as a writer lives.

The local interpreter takes definitions that Step Functions would refuse, or would run another way; this is what stands
against that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from lethe.domain.erasure import StepName, drain_seconds
from lethe.domain.json_values import JsonObject, JsonValue
from tests.template.stack import ROOT, items, mapping, schedule, stack
from tests.template.test_functions import environment
from tests.template.test_roles import rights

DEFINITION = ROOT / "functions/erase/erase.asl.json"
MACHINE: JsonObject = json.loads(DEFINITION.read_text(encoding="utf-8"))
STATES = {name: mapping(state) for name, state in mapping(MACHINE["States"]).items()}
TASKS = [name for name, state in STATES.items() if state["Type"] == "Task"]
HANDED_ON = {"task", "tenant", "erasure", "done", "error", "seconds"}
TRANSIENT = {
    "Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException",
    "Lambda.ClientExecutionTimeoutException", "Lambda.TooManyRequestsException", "Lambda.Unknown", "Sandbox.Timedout",
    "Throttled", "Unavailable", "States.Timeout",
}  # fmt: skip
DATA = {"SubjectsTable.Arn", "SessionsTable.Arn", "EntitiesTable.Arn", "MemoriesTable.Arn"}
WRITES = {"PutItem", "UpdateItem", "BatchWriteItem"}


def _properties() -> JsonObject:
    (machine,) = stack().resources("AWS::StepFunctions::StateMachine").values()
    return machine


def _next(state: JsonObject) -> set[str]:
    """Every state that may come after this one."""
    branches = [*items(state.get("Catch", ())), *items(state.get("Choices", ()))]
    names = [state.get("Next"), state.get("Default"), *(mapping(branch).get("Next") for branch in branches)]
    return {str(name) for name in names if name is not None}


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)


def test_every_step_is_a_state_and_they_come_in_order() -> None:
    steps = [name.value for name in StepName]
    assert [name for name in STATES if name in steps] == steps
    assert MACHINE["StartAt"] == steps[0]
    passed, state = [], steps[0]
    while state != "completed":
        if state in steps:
            passed.append(state)
        following = STATES[state]
        choices = items(following.get("Choices", ()))
        state = str(mapping(choices[0])["Next"] if choices else following["Next"])
    assert passed == steps


def test_every_name_leads_to_a_state_and_every_state_is_reached() -> None:
    reached, new = set[str](), {str(MACHINE["StartAt"])}
    while new:
        reached |= new
        new = {name for state in new for name in _next(STATES[state])} - reached
    assert reached == STATES.keys()
    ends = {name for name, state in STATES.items() if state["Type"] in ("Succeed", "Fail")}
    assert ends == {"completed", "failed"}
    assert all(_next(state) for name, state in STATES.items() if name not in ends)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_tries_again_what_may_pass_for_a_bounded_time(name: str) -> None:
    task = STATES[name]
    (retry,) = map(mapping, items(task["Retry"]))
    assert set(map(str, items(retry["ErrorEquals"]))) == TRANSIENT
    assert retry["JitterStrategy"] == "FULL"
    first, rate, longest, attempts = (
        int(str(retry[part])) for part in ("IntervalSeconds", "BackoffRate", "MaxDelaySeconds", "MaxAttempts")
    )
    pauses = [min(first * rate**attempt, longest) for attempt in range(attempts)]
    assert 60 <= sum(pauses) <= 600
    limit = int(str(stack().resources("AWS::Lambda::Function")["EraseFunction"]["Timeout"]))
    assert limit < int(str(task["TimeoutSeconds"])) <= limit + 60


@pytest.mark.parametrize("name", TASKS)
def test_every_error_of_a_task_leads_to_an_honest_end_without_its_text(name: str) -> None:
    catches = [mapping(each) for each in items(STATES[name]["Catch"])]
    assert items(catches[-1]["ErrorEquals"]) == ["States.ALL"]
    assert all(each["ResultPath"] is None for each in catches), "an error's cause would go into the state"
    if name == "fail":
        assert [each["Next"] for each in catches] == ["failed"]
        return
    ends = [mapping(STATES[str(each["Next"])]["Parameters"])["error"] for each in catches]
    assert ends == ["LeftBehind", "Unavailable", "Unexpected"]
    assert [set(map(str, items(each["ErrorEquals"]))) for each in catches[:-1]] == [{"LeftBehind"}, TRANSIENT]
    assert {STATES[str(each["Next"])]["Next"] for each in catches} == {"fail"}


def test_what_is_left_behind_is_not_tried_again() -> None:
    retries = [mapping(each) for task in TASKS for each in items(STATES[task]["Retry"])]
    retried = {str(error) for retry in retries for error in items(retry["ErrorEquals"])}
    assert not {"LeftBehind", "States.ALL", "States.TaskFailed"} & retried


@pytest.mark.parametrize("name", TASKS)
def test_a_task_hands_over_names_and_takes_back_names(name: str) -> None:
    task = STATES[name]
    given = mapping(task["Parameters"])
    assert task["Resource"] == "${EraseFunctionArn}"
    names = {"task": name, "tenant.$": "$.tenant", "erasure.$": "$.erasure"}
    if name == "fail":
        assert given == names | {"error.$": "$.error"}
        assert task["ResultPath"] is None
        return
    assert given == names
    taken = mapping(task["ResultSelector"])
    assert taken == {f"{part}.$": f"$.{part}" for part in ("task", "tenant", "erasure", "done")}
    assert {"ResultPath", "OutputPath", "InputPath", "Assign"}.isdisjoint(task)


@pytest.mark.parametrize("name", [name for name in TASKS if name != "fail"])
def test_a_task_is_called_again_until_it_is_done(name: str) -> None:
    choice = STATES[str(STATES[name]["Next"])]
    done, *others = (mapping(each) for each in items(choice["Choices"]))
    assert (done["Variable"], done["BooleanEquals"]) == ("$.done", True)
    assert choice["Default"] == name
    back = {
        "probe": {"probe later": "probe later", "index": "another round"},
        "verify": {"verify later": "verify later"},
    }
    assert {str(each["StringEquals"]): each["Next"] for each in others} == back.get(name, {})
    assert all(each["Variable"] == "$.task" for each in others)


def test_nothing_but_names_is_in_any_state() -> None:
    for name, state in STATES.items():
        if state["Type"] == "Pass":
            assert {part.removesuffix(".$") for part in mapping(state["Parameters"])} <= HANDED_ON, name
    paths = {text for state in STATES.values() for text in _texts(state) if text.startswith("$.")}
    assert {path.removeprefix("$.") for path in paths} <= HANDED_ON


def test_it_is_written_in_the_language_that_is_tested() -> None:
    assert MACHINE["QueryLanguage"] == "JSONPath"
    assert not any("QueryLanguage" in state for state in STATES.values())
    assert not [text for text in _texts(MACHINE) if text.startswith("{%")]


def test_the_drain_is_the_only_wait_on_the_way() -> None:
    waits = {
        name: (state.get("SecondsPath", state.get("Seconds")), state["Next"])
        for name, state in STATES.items()
        if state["Type"] == "Wait"
    }
    assert waits == {
        "drain": ("$.seconds", "sweep"),
        "probe later": (20, "probe"),
        "verify later": (20, "verify"),
        "another round": (10, "index"),
    }


@pytest.mark.parametrize("engine", ["scan", "managed", "serverless"])
def test_the_drain_is_as_long_as_any_writer_lives(engine: str) -> None:
    a_stack = stack(SearchEngine=engine)
    functions = a_stack.resources("AWS::Lambda::Function")
    writers = {
        name: int(str(function["Timeout"]))
        for name, function in functions.items()
        if any(_writes(action, resource) for action, resource in rights(a_stack, name))
    }
    # Recall, too: it keeps its answers to requests with an idempotency key.
    assert {"WriteFunction", "RecallFunction", "GovernFunction", "EraseFunction"} <= writers.keys()
    assert ("IndexFunction" in writers) is (engine != "scan")
    assert not {"AuthorizeFunction"} & writers.keys()
    assert _properties()["DefinitionSubstitutions"] == {
        "EraseFunctionArn": "EraseFunction.Arn",
        "DrainSeconds": str(drain_seconds(list(writers.values()))),
    }


def _writes(action: str, resource: str) -> bool:
    """Whether this right can put something of a subject's somewhere."""
    service, _, verb = action.partition(":")
    return (service == "dynamodb" and verb in WRITES and resource in DATA) or (
        service in ("es", "aoss") and not resource.endswith("_msearch")
    )


def test_every_substitution_is_made() -> None:
    places = set(re.findall(r"\$\{(\w+)\}", DEFINITION.read_text(encoding="utf-8")))
    assert places == mapping(_properties()["DefinitionSubstitutions"]).keys()


def test_it_is_standard_and_logs_no_data() -> None:
    machine = _properties()
    assert machine["StateMachineType"] == "STANDARD"
    logging = mapping(machine["LoggingConfiguration"])
    assert (logging["Level"], logging["IncludeExecutionData"]) == ("ERROR", False)
    assert machine["TracingConfiguration"] == {"Enabled": True}


@pytest.mark.parametrize("function", ["GovernFunction", "EraseFunction"])
def test_the_functions_start_this_machine(function: str) -> None:
    arn = environment(function)["LETHE_STATE_MACHINE_ARN"]
    assert arn.rpartition(":")[2] == _properties()["StateMachineName"]
    assert [resource for action, resource in rights(stack(), function) if action == "states:StartExecution"] == [arn]


def test_the_machine_may_invoke_its_function_and_nothing_else() -> None:
    role = stack().resources("AWS::IAM::Role")["EraseMachineRole"]
    (trust,) = items(mapping(role["AssumeRolePolicyDocument"])["Statement"])
    assert mapping(mapping(trust)["Principal"]) == {"Service": "states.amazonaws.com"}
    (policy,) = items(role["Policies"])
    statements = [mapping(each) for each in items(mapping(mapping(policy)["PolicyDocument"])["Statement"])]
    narrow = [each for each in statements if each["Resource"] != "*"]
    assert [(each["Action"], each["Resource"]) for each in narrow] == [(["lambda:InvokeFunction"], "EraseFunction.Arn")]
    unnarrowable = {str(action).partition(":")[0] for each in statements for action in items(each["Action"])} - {
        "lambda"
    }
    assert unnarrowable == {"xray", "logs"}, "neither has resources to name for these"


def test_the_tick_comes_every_five_minutes() -> None:
    rule = schedule("tick")
    assert (rule["ScheduleExpression"], rule.get("State", "ENABLED")) == ("rate(5 minutes)", "ENABLED")


def test_receipts_are_signed_by_a_key_that_outlives_the_stack() -> None:
    (raw,) = stack().raw("AWS::KMS::Key").values()
    assert (raw["DeletionPolicy"], raw["UpdateReplacePolicy"]) == ("Retain", "Retain")
    (key,) = stack().resources("AWS::KMS::Key").values()
    assert (key["KeySpec"], key["KeyUsage"]) == ("ECC_NIST_P256", "SIGN_VERIFY")
    assert environment("EraseFunction")["LETHE_RECEIPT_KEY_ARN"] == "ReceiptKey.Arn"
    signers = {
        name
        for name in stack().resources("AWS::Lambda::Function")
        for action, _ in rights(stack(), name)
        if action == "kms:Sign"
    }
    assert signers == {"EraseFunction"}
