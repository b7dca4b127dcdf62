"""From the embedder setting to the Embedder: one line of configuration chooses the model.

``local``
    The model that comes with Lethe; no network.
``bedrock:<model id>[?dimensions=…]``
    Amazon Bedrock: ``amazon.titan-embed-text-v2:0`` or ``cohere.embed-multilingual-v3``.
``openai:<model>[?dimensions=…&shorten=true]``
    A server with an OpenAI-compatible ``/embeddings`` call, at the URL setting. ``dimensions`` is the length of the
    vectors and may be left out for OpenAI's own models; ``shorten=true`` asks the model to shorten them to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qsl

from lethe.ports import Embedder

ACCEPTED: Final = "local, bedrock:<model id>[?dimensions=<number>] or openai:<model>[?dimensions=<number>&shorten=true]"
"""What an embedder setting may be, for error texts."""

_LARGEST: Final = 8_192
_OPENAI_DIMENSIONS: Final[Mapping[str, int]] = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
_OPENAI_SHORTENS: Final = "text-embedding-3-"
_OPENAI_URL: Final = "https://api.openai.com/v1"

_local_model: Embedder | None = None
_local_lock = threading.Lock()


def make_embedder(
    spec: str,
    *,
    region: str,
    url: str | None = None,
    api_key: Callable[[], str] | None = None,
) -> Embedder:
    """The embedder that ``spec`` names. Nothing is loaded or called but what that model needs.

    Args:
        spec: See the module.
        region: AWS region of Bedrock.
        url: The OpenAI-compatible server's base address, or another endpoint for Bedrock. Without one Bedrock has
            its regional endpoint and OpenAI's own models OpenAI's; any other model needs it.
        api_key: Gives the key of the OpenAI-compatible server; asked at every call.

    Raises:
        ValueError: ``spec`` or ``url`` is not acceptable; the text says what is.
    """
    kind, _, rest = spec.partition(":")
    name, _, query = rest.partition("?")
    if spec == "local":
        return _shared_local_model()
    if kind == "bedrock" and name:
        options = _options(query, ("dimensions",))
        return _bedrock(name, _dimensions(options), region, url)
    if kind == "openai" and name:
        return _openai(name, _options(query, ("dimensions", "shorten")), url, api_key)
    raise ValueError(f"the embedder must be {ACCEPTED}")


def _options(query: str, known: tuple[str, ...]) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    if len(options) != len(pairs) or not set(options) <= set(known):
        raise ValueError(f"after its '?' this embedder takes {' and '.join(known)}, each once; accepted: {ACCEPTED}")
    return options


def _dimensions(options: Mapping[str, str]) -> int | None:
    text = options.get("dimensions")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= _LARGEST):
        raise ValueError(f"the embedder's dimensions must be a whole number from 1 to {_LARGEST}")
    return int(text)


def _shared_local_model() -> Embedder:
    """One instance a process: its weights are the largest thing in memory."""
    global _local_model
    with _local_lock:
        if _local_model is None:
            from lethe.adapters.local_model import LocalEmbedder  # the import loads a runtime

            _local_model = LocalEmbedder()
        return _local_model


def _bedrock(model_id: str, dimensions: int | None, region: str, url: str | None) -> Embedder:
    from lethe.adapters.bedrock import BedrockEmbedder, BedrockSettings  # the import loads botocore

    return BedrockEmbedder(model_id, BedrockSettings(region=region, endpoint_url=url or None), dimensions)


def _openai(
    model_name: str, options: Mapping[str, str], url: str | None, api_key: Callable[[], str] | None
) -> Embedder:
    from lethe.adapters.openai_compatible import OpenAICompatibleEmbedder, OpenAISettings  # loads urllib3

    own = _OPENAI_DIMENSIONS.get(model_name)
    dimensions = _dimensions(options) or own
    if dimensions is None:
        raise ValueError("say how long the model's vectors are, as in openai:bge-m3?dimensions=1024")
    shorten = options.get("shorten", "false")
    if shorten not in ("true", "false"):
        raise ValueError("the embedder's shorten must be true or false")
    if not url and own is None:
        # Nobody who forgets the address of his own server means to send memories to OpenAI.
        raise ValueError("set the embedder's URL: this model is not one of OpenAI's own")
    settings = OpenAISettings(
        base_url=url or _OPENAI_URL,
        api_key=api_key,
        shorten=shorten == "true" or (dimensions != own and model_name.startswith(_OPENAI_SHORTENS)),
    )
    return OpenAICompatibleEmbedder(model_name, dimensions, settings)
