"""Where hints go that the index will never take: a queue on AWS, whose alarm calls somebody; a file on a laptop."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

from lethe.errors import Unavailable
from lethe.ports import DeadLetter

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

_MOST = 10


class QueueDeadLetters:
    """``DeadLetters`` in an SQS queue."""

    def __init__(self, region: str, url: str) -> None:
        config = Config(connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 3})
        client = get_session().create_client("sqs", region_name=region, config=config)
        self._client = cast("SQSClient", client)
        self._url = url

    def add(self, letters: Sequence[DeadLetter]) -> None:
        """Ten a request."""
        for start in range(0, len(letters), _MOST):
            entries: list[SendMessageBatchRequestEntryTypeDef] = [
                {"Id": str(number), "MessageBody": json.dumps(letter._asdict())}
                for number, letter in enumerate(letters[start : start + _MOST])
            ]
            try:
                answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            except (ClientError, BotoCoreError) as error:
                raise Unavailable("the queue of dead letters does not answer") from error
            if answer.get("Failed"):
                raise Unavailable("the queue of dead letters did not take all")


class FileDeadLetters:
    """``DeadLetters`` as lines of JSON at the end of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, letters: Sequence[DeadLetter]) -> None:
        """One write."""
        lines = "".join(json.dumps(letter._asdict()) + "\n" for letter in letters)
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(lines)
        except OSError as error:
            raise Unavailable("the file of dead letters cannot be written") from error


class NoDeadLetters:
    """``DeadLetters`` without a place: the function's log and metrics count them, and that is all."""

    def add(self, letters: Sequence[DeadLetter]) -> None:
        """Nothing."""
