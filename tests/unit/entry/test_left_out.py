"""On Lambda, functions start without modules that they never use, and elsewhere nothing is left out."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lethe.entry.left_out import LEFT_OUT

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("ACCESS", "SUBJECTS", "SESSIONS", "ENTITIES", "MEMORIES", "LEDGER")
TABLES = {f"LETHE_{name}_TABLE": name.lower() for name in NAMES}
ENVIRONMENT = {
    **TABLES,
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "LETHE_DYNAMODB_ENDPOINT": "http://127.0.0.1:9",
    "LETHE_MASTER_KEY": "a-master-key-of-no-worth-in-a-test-0000",
    "LETHE_EMBEDDER": "bedrock:amazon.titan-embed-text-v2:0",
}
# Starts a function, shows which of the modules are real, and that numpy works: an inverse goes through numpy.linalg.
START = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
import app
found = {name: type(sys.modules[name]).__name__ for name in json.loads(sys.argv[2]) if name in sys.modules}
import numpy as np
print(json.dumps([found, np.linalg.inv(np.diag([2.0, 4.0])).tolist()]))
"""


def started(function: str, **environment: str) -> tuple[dict[str, str], list[list[float]]]:
    folders = [str(ROOT / "functions" / function), str(ROOT / "shared")]
    done = subprocess.run(
        [sys.executable, "-c", START, json.dumps(folders), json.dumps(LEFT_OUT)],
        env={"PATH": os.environ["PATH"], **ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, inverse = json.loads(done.stdout)
    return found, inverse


@pytest.mark.parametrize("function", ["authorize", "write", "recall"])
def test_on_lambda_a_function_starts_without_them(function: str) -> None:
    found, inverse = started(function, AWS_LAMBDA_INITIALIZATION_TYPE="on-demand")

    assert found == dict.fromkeys(LEFT_OUT, "_StandIn")
    assert inverse == [[0.5, 0.0], [0.0, 0.25]]


def test_elsewhere_nothing_is_left_out() -> None:
    found, _ = started("recall")

    assert set(found.values()) <= {"module"}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_the_names_are_those_of_real_modules(name: str) -> None:
    assert importlib.import_module(name).__name__ == name
