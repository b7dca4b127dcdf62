"""``Executions`` as a state machine of Step Functions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from lethe.adapters.aws_logging import quiet_botocore
from lethe.adapters.aws_session import aws_session
from lethe.errors import Throttled, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.client import SFNClient

_STARTED: Final = "ExecutionAlreadyExists"
_THROTTLED: Final = frozenset({"ThrottlingException", "ExecutionLimitExceeded", "TooManyRequestsException"})


class StepFunctionsExecutions:
    """Starts executions of one state machine; the client is made at the first."""

    def __init__(self, region: str, state_machine_arn: str, endpoint: str | None = None) -> None:
        self._region = region
        self._arn = state_machine_arn
        self._endpoint = endpoint
        self._client: SFNClient | None = None

    def start(self, tenant: str, erasure_id: str, run: int) -> None:
        """The name makes it one: ``er_…`` for the first run, ``er_…-2`` for the second.

        Step Functions answers the same name and input with the execution that runs, and refuses it when that has
        ended (a name is free again after 90 days): both mean that it was started.
        """
        name = erasure_id if run <= 1 else f"{erasure_id}-{run}"
        handed_over = json.dumps({"tenant": tenant, "erasure": erasure_id}, sort_keys=True)
        try:
            self._connected().start_execution(stateMachineArn=self._arn, name=name, input=handed_over)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == _STARTED:
                return
            kind = Throttled if code in _THROTTLED else Unavailable
            raise kind("the state machine was not started") from error
        except BotoCoreError as error:
            raise Unavailable("Step Functions does not answer") from error

    def _connected(self) -> SFNClient:
        if self._client is None:
            quiet_botocore()
            # A request waits for this, and the tick starts what was not started.
            config = Config(connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 2})
            self._client = cast(
                "SFNClient",
                aws_session().create_client(
                    "stepfunctions", region_name=self._region, endpoint_url=self._endpoint, config=config
                ),
            )
        return self._client
