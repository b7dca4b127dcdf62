"""What a function reads from its environment, validated once at cold start; nothing else reads the environment.

Field ``x`` is variable ``LETHE_X``. The template sets exactly the fields of a function's class, less those named in
``LOCAL_ONLY``, which only the laptop sets. ``tests/template`` holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """Base of all settings; an empty variable counts as absent."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    LOCAL_ONLY: ClassVar[frozenset[str]] = frozenset({"dynamodb_endpoint", "region"})

    region: str = "us-east-1"
    dynamodb_endpoint: str | None = None
    """Another DynamoDB than the region's own: the laptop's."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Raises pydantic's ValidationError, which names the field and never the value."""
        values = {
            name: environment[variable]
            for name in cls.model_fields
            if environment.get(variable := f"LETHE_{name.upper()}")
        }
        values.setdefault("region", environment.get("AWS_REGION") or "us-east-1")
        return cls.model_validate(values)


class AuthorizeSettings(Settings):
    """Of the function ``authorize``."""

    access_table: str = Field(min_length=1)


class DataSettings(Settings):
    """What every function needs that touches a subject's data."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = Settings.LOCAL_ONLY | {"master_key"}

    subjects_table: str = Field(min_length=1)
    sessions_table: str = Field(min_length=1)
    entities_table: str = Field(min_length=1)
    memories_table: str = Field(min_length=1)
    secret_arn: str | None = None
    """The secret with the root key of subject hashes and cursor signatures."""
    master_key: str | None = Field(default=None, min_length=32, repr=False)
    """The root key itself, instead of ``secret_arn``."""
    embedder: str = "local"
    """``local``, ``bedrock:<model id>`` or ``openai:<model>``."""
    embedder_url: str | None = None
    embedder_key_arn: str | None = None


class WriteSettings(DataSettings):
    """Of the function ``write``."""


class RecallSettings(DataSettings):
    """Of the function ``recall``."""

    search_engine: Literal["scan"] = "scan"
    cache_megabytes: int = Field(default=128, ge=1, le=4096)
    """How much of the subjects served lately a container keeps decoded."""
    cache_seconds: int = Field(default=300, ge=0, le=3600)
    """How long a cached view lives at most, used or not."""


class AccessSettings(Settings):
    """Of the ``lethe`` command's tenants and keys."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = Settings.LOCAL_ONLY | {"master_key"}

    access_table: str = Field(min_length=1)
    secret_arn: str | None = None
    master_key: str | None = Field(default=None, min_length=32, repr=False)
