"""The embedder setting: what is accepted, what it becomes, and which addresses are allowed."""

import re
import subprocess
import sys

import pytest

from lethe.adapters.embedders import ACCEPTED, make_embedder
from lethe.adapters.endpoint_urls import checked_base_url
from tests.support.embedding_servers import NATIVE_DIMENSIONS, EmbeddingServer

REGION = "eu-central-1"


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("bedrock:amazon.titan-embed-text-v2:0", "bedrock/amazon.titan-embed-text-v2:0@512"),
        ("bedrock:amazon.titan-embed-text-v2:0?dimensions=1024", "bedrock/amazon.titan-embed-text-v2:0@1024"),
        ("bedrock:cohere.embed-multilingual-v3", "bedrock/cohere.embed-multilingual-v3@1024"),
        ("openai:text-embedding-3-small", "openai/text-embedding-3-small@1536"),
        ("openai:text-embedding-3-large?dimensions=256", "openai/text-embedding-3-large@256"),
    ],
)
def test_a_setting_names_the_model(spec: str, label: str) -> None:
    assert make_embedder(spec, region=REGION, url="").model.label == label


@pytest.mark.parametrize(
    ("spec", "dimensions", "sent"),
    [
        (f"openai:bge-m3:latest?dimensions={NATIVE_DIMENSIONS}", NATIVE_DIMENSIONS, None),
        ("openai:org/matryoshka?dimensions=16&shorten=true", 16, 16),
        ("openai:text-embedding-3-small?dimensions=64", 64, 64),
    ],
)
def test_dimensions_are_sent_to_models_that_can_shorten(spec: str, dimensions: int, sent: int | None) -> None:
    with EmbeddingServer() as server:
        embedder = make_embedder(spec, region=REGION, url=f"{server.url}/v1", api_key=lambda: "k")
        assert embedder.embed(["hello"], "query").shape == (1, dimensions)
    assert server.bodies[0].get("dimensions") == sent
    assert server.bodies[0]["model"] == spec.partition(":")[2].partition("?")[0]


@pytest.mark.parametrize(
    "spec", ["", "Local", "local:", "local?dimensions=5", "bedrock:", "bedrock", "openai:", "gpt:x"]
)
def test_an_unknown_setting_is_refused_with_what_is_accepted(spec: str) -> None:
    with pytest.raises(ValueError, match="the embedder must be") as caught:
        make_embedder(spec, region=REGION)
    assert ACCEPTED in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("bedrock:amazon.titan-embed-text-v1", "these are known: amazon.titan-embed-text-v2:0, cohere"),
        ("bedrock:amazon.titan-embed-text-v2:0?dimensions=384", "256, 512, 1024"),
        ("bedrock:cohere.embed-multilingual-v3?dimensions=512", "1024"),
        ("bedrock:cohere.embed-multilingual-v3?shorten=true", "takes dimensions"),
        ("openai:bge-m3", "say how long"),
        ("openai:bge-m3?dimensions=1024", "set the embedder's URL"),
        ("openai:m?dimensions=0", "from 1 to 8192"),
        ("openai:m?dimensions=１２", "from 1 to 8192"),
        ("openai:m?dimensions=-1", "from 1 to 8192"),
        ("openai:m?dimensions=99999999999", "from 1 to 8192"),
        ("openai:m?dimensions=", "from 1 to 8192"),
        ("openai:m?dimensions=4&dimensions=5", "each once"),
        ("openai:m?size=4", "takes dimensions and shorten"),
        ("openai:text-embedding-3-small?shorten=yes", "true or false"),
    ],
)
def test_a_wrong_setting_says_what_is_right(spec: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make_embedder(spec, region=REGION)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "https://models.internal:8443/v1/",
        "http://localhost:11434/v1",
        "http://127.0.0.1:8000/v1",
        "http://127.8.9.10/v1",
        "http://[::1]:1234/v1",
    ],
)
def test_allowed_addresses(url: str) -> None:
    assert checked_base_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "begin with https"),
        ("api.openai.com/v1", "begin with https"),
        ("ftp://models.example/v1", "begin with https"),
        ("file:///etc/passwd", "begin with https"),
        ("https:///v1", "begin with https"),
        ("http://models.example/v1", "must use https"),
        ("http://169.254.169.254/latest", "must use https"),
        ("http://localhost.models.example/v1", "must use https"),
        ("http://0.0.0.0:8000/v1", "must use https"),
        ("http://2130706433/v1", "must use https"),
        ("https://169.254.169.254/latest", "link-local"),
        ("https://[fe80::1]/v1", "link-local"),
        ("https://me:pa55word@models.example/v1", "no user name"),
        ("http://localhost@models.example/v1", "no user name"),
        ("https://models.example/v1?key=pa55word", "no query"),
        ("https://models.example/v1#pa55word", "no query"),
        ("https://models.example\\@localhost/v1", "cannot be read"),
        ("https://models.example/v1\r\nX: y", "cannot be read"),
        ("https://models.example:port/v1", "cannot be read"),
        ("https://[::1/v1", "cannot be read"),
        ("https://mödels.example/v1", "cannot be read"),
    ],
)
def test_refused_addresses(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        checked_base_url(url)
    assert "pa55word" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("spec", ["openai:text-embedding-3-small", "bedrock:amazon.titan-embed-text-v2:0"])
def test_the_address_is_checked_before_any_call(spec: str) -> None:
    with pytest.raises(ValueError, match="must use https"):
        make_embedder(spec, region=REGION, url="http://models.example/v1")


def test_the_local_model_is_one_a_process() -> None:
    # Its weights load at the first text only, so this needs none of its packages.
    assert make_embedder("local", region=REGION) is make_embedder("local", region=REGION)


@pytest.mark.parametrize(
    ("spec", "unloaded"),
    [
        ("openai:text-embedding-3-small", ["botocore", "lethe.adapters.local_model"]),
        ("bedrock:amazon.titan-embed-text-v2:0", ["boto3", "lethe.adapters.local_model"]),
    ],
)
def test_nothing_is_imported_that_the_model_does_not_need(spec: str, unloaded: list[str]) -> None:
    # In a process of its own: this one has imported everything long ago.
    program = (
        "import sys\n"
        "from lethe.adapters.embedders import make_embedder\n"
        f"make_embedder({spec!r}, region='eu-central-1')\n"
        f"print([name for name in {unloaded!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
