"""One cold start, in a process of its own that has imported nothing before the clock starts.

Arguments: what to start (``boto3`` or a function's folder), and a JSON file with its settings (``cold.Settings``).
Writes one line of JSON to standard error: seconds on the clock and on the processor until the client or
function is built and until the first answer is there.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # the real one costs an import of ``typing``
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    import numpy as np
    from numpy.typing import NDArray

    from bench.speed.cold import Settings

    Mark = Callable[[str], None]


def main() -> None:
    clock, processor = time.perf_counter(), time.process_time()
    marks: dict[str, tuple[float, float]] = {}

    def mark(name: str) -> None:
        marks[name] = (time.perf_counter() - clock, time.process_time() - processor)

    start = _boto3 if sys.argv[1] == "boto3" else _function
    status = start(sys.argv[2], mark)
    import json

    print(json.dumps({"marks": marks, "status": status}), file=sys.stderr)


def _read(path: str) -> Settings:
    import json

    with open(path, encoding="utf-8") as file:
        settings: Settings = json.load(file)
    os.environ.update(settings["environment"])
    return settings


def _boto3(path: str, mark: Mark) -> int:
    """The floor: what any Lambda in Python pays that reads one item through boto3."""
    import boto3

    settings = _read(path)
    region, endpoint = settings["environment"]["AWS_REGION"], settings["environment"]["LETHE_DYNAMODB_ENDPOINT"]
    client = boto3.client("dynamodb", endpoint_url=endpoint, region_name=region)
    mark("built")
    answer = client.get_item(TableName=settings["table"], Key={"pk": {"S": "nobody"}, "sk": {"S": "HEAD"}})
    mark("answered")
    return int(answer["ResponseMetadata"]["HTTPStatusCode"])


def _function(path: str, mark: Mark) -> int:
    """A function as Lambda starts it: the handler's module builds the function when it is imported."""
    settings = _read(path)
    sys.path[:0] = settings["folders"]
    if settings["stub_dimensions"]:
        _use_stub(settings["stub_dimensions"])
    import app  # type: ignore[import-not-found]  # of the function's folder, which is on the path now

    mark("built")
    answer = app.lambda_handler(settings["event"], _Context())
    mark("answered")
    return int(answer["statusCode"] if "statusCode" in answer else 200 if answer["context"]["authenticated"] else 401)


def _use_stub(dimensions: int) -> None:
    """A model that costs nothing, in place of the one that comes with Lethe."""
    from lethe.adapters import embedders
    from lethe.domain.embedding import EmbeddingModel

    class Stub:
        model = EmbeddingModel("local/minilm-use", "1", dimensions)

        def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> NDArray[np.float32]:
            import numpy as np

            return np.full((len(texts), dimensions), dimensions**-0.5, np.float32)

    embedders._local_model = Stub()


class _Context:
    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        return 5_000


main()
