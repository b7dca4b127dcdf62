"""SAM CLI's own two opinions of the template; neither includes the other."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.template.stack import ROOT, TEMPLATE

SAM = ROOT / ".venv-sam" / "bin" / "sam"
QUIET = {"SAM_CLI_TELEMETRY": "0", "AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.mark.parametrize("mode", [[], ["--lint"]], ids=["translator", "lint"])
def test_sam_validates(mode: list[str]) -> None:
    if not SAM.exists():
        assert "CI" not in os.environ, "CI installs SAM CLI by `make sam` before the tests"
        pytest.skip("SAM CLI is not installed: `make sam` puts it into .venv-sam")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | QUIET
    done = subprocess.run(
        [SAM, "validate", "--template", TEMPLATE, *mode],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is a valid SAM Template" in done.stdout
