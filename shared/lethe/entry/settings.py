"""What a function reads from its environment, validated once at cold start; nothing else reads the environment.

Field ``x`` is variable ``LETHE_X``. The template sets exactly the fields of a function's class, less those named in
``LOCAL_ONLY``, which only the laptop sets. ``tests/template`` holds the two together. Plain dataclasses: pydantic
would be a third of the authorizer's cold start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from typing import ClassVar, Literal, Self

from lethe.domain.immutable import immutable


def _whole(default: int, least: int, most: int) -> int:
    return field(default=default, metadata={"least": least, "most": most})


Flavour = Literal["managed", "serverless", "local"]
Audited = Literal["all", "writes", "off"]
_ALIAS = "lethe-memories"


def _flavour() -> Flavour:
    """What kind of OpenSearch it is; a node of one's own is ``local``."""
    return field(default="managed", metadata={"choices": ("managed", "serverless", "local")})


def _audited() -> Audited:
    """Which requests leave an entry in the audit trail: all, all but those that only read, or none."""
    return field(default="all", metadata={"choices": ("all", "writes", "off")})


def _key() -> str | None:
    return field(default=None, repr=False, metadata={"characters": 32})


@immutable(kw_only=True)
class Settings:
    """Base of all settings; an empty variable counts as absent."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = frozenset({"dynamodb_endpoint", "region"})

    region: str = "us-east-1"
    dynamodb_endpoint: str | None = None
    """Another DynamoDB than the region's own: the laptop's."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Raises ValueError, which names the variable and never the value."""
        given = {"LETHE_REGION": environment.get("AWS_REGION", "")} | {k: v for k, v in environment.items() if v}
        read = {field.name: _read(field, given.get(f"LETHE_{field.name.upper()}")) for field in fields(cls)}
        return cls(**{name: value for name, value in read.items() if value is not None})  # type: ignore[arg-type]  # read

    @classmethod
    def names(cls) -> frozenset[str]:
        """The names of all fields."""
        return frozenset(field.name for field in fields(cls))


def _read(field: Field[object], text: str | None) -> str | int | None:
    """The value in ``text``; None takes the field's default."""
    variable = f"LETHE_{field.name.upper()}"
    if not text:
        if field.default is MISSING:
            raise ValueError(f"{variable} must be set")
        return None
    if "least" in field.metadata:
        least, most = int(field.metadata["least"]), int(field.metadata["most"])
        if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
            raise ValueError(f"{variable} must be a whole number from {least} to {most}")
        return int(text)
    if len(text) < field.metadata.get("characters", 0):
        raise ValueError(f"{variable} must have at least {field.metadata['characters']} characters")
    if text not in field.metadata.get("choices", (text,)):
        raise ValueError(f"{variable} must be one of: {', '.join(field.metadata['choices'])}")
    return text


@immutable(kw_only=True)
class AuthorizeSettings(Settings):
    """Of the function ``authorize``."""

    access_table: str


@immutable(kw_only=True)
class DataSettings(Settings):
    """What every function needs that touches a subject's data."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = Settings.LOCAL_ONLY | {"master_key"}

    subjects_table: str
    sessions_table: str
    entities_table: str
    memories_table: str
    ledger_table: str
    secret_arn: str | None = None
    """The secret with the root key of subject hashes and cursor signatures."""
    master_key: str | None = _key()
    """The root key itself, instead of ``secret_arn``."""
    embedder: str = "local"
    """``local``, ``bedrock:<model id>`` or ``openai:<model>``."""
    embedder_url: str | None = None
    embedder_key_arn: str | None = None


@immutable(kw_only=True)
class WritingSettings(DataSettings):
    """What every function needs that writes memories."""

    second_embedder: str | None = None
    """A model whose vectors memories carry beside those of ``embedder``, while one takes the other's place."""
    second_embedder_url: str | None = None
    second_embedder_key_arn: str | None = None


@immutable(kw_only=True)
class WriteSettings(WritingSettings):
    """Of the function ``write``."""

    audit: Audited = _audited()


@immutable(kw_only=True)
class RecallSettings(DataSettings):
    """Of the function ``recall``."""

    audit: Audited = _audited()
    search_engine: Literal["scan", "opensearch"] = field(default="scan", metadata={"choices": ("scan", "opensearch")})
    opensearch_url: str | None = None
    """The cluster's address with scheme; demanded by the engine ``opensearch``."""
    opensearch_flavour: Flavour = _flavour()
    opensearch_alias: str = _ALIAS
    cache_megabytes: int = _whole(128, 1, 4096)
    """How much of the subjects served lately a container keeps decoded."""
    cache_seconds: int = _whole(300, 0, 3600)
    """How long a cached view lives at most, used or not."""


@immutable(kw_only=True)
class ReembedSettings(Settings):
    """Of ``lethe index reembed``: the tables, and the models as ``WriteSettings`` has them."""

    subjects_table: str
    memories_table: str
    embedder: str = "local"
    embedder_url: str | None = None
    embedder_key_arn: str | None = None
    second_embedder: str | None = None
    second_embedder_url: str | None = None
    second_embedder_key_arn: str | None = None


@immutable(kw_only=True)
class IndexSettings(Settings):
    """Of the function ``index`` and of ``lethe index``. The embedder is named for its model's label and dimensions;
    nothing is embedded.
    """

    LOCAL_ONLY: ClassVar[frozenset[str]] = Settings.LOCAL_ONLY | {
        "opensearch_shards",
        "opensearch_graphs",
        "dead_letters_file",
    }

    subjects_table: str
    memories_table: str
    embedder: str = "local"
    embedder_url: str | None = None
    second_embedder: str | None = None
    """A model that has an index of its own beside, while one takes the other's place."""
    second_embedder_url: str | None = None
    opensearch_url: str
    opensearch_flavour: Flavour = _flavour()
    opensearch_alias: str = _ALIAS
    opensearch_shards: int = _whole(1, 1, 1024)
    """Of an index that `lethe index rebuild` makes; the function makes none."""
    opensearch_graphs: int = _whole(0, 0, 100_000_000)
    """Of such an index: from how many vectors in a segment an HNSW graph is built; 0 builds none."""
    dead_letters_url: str | None = None
    """The queue for what the index never takes; without one, or a file, it is only counted."""
    dead_letters_file: str | None = None
    """A file for it, instead of ``dead_letters_url``."""


@immutable(kw_only=True)
class ErasingSettings(WritingSettings):
    """What deleting needs: everything that holds a subject's data, and the machine that erases."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = WritingSettings.LOCAL_ONLY | {"step_functions_endpoint"}

    access_table: str
    opensearch_url: str | None = None
    """The cluster's address with scheme; None where no index is kept."""
    opensearch_flavour: Flavour = _flavour()
    opensearch_alias: str = _ALIAS
    state_machine_arn: str
    step_functions_endpoint: str | None = None
    """Another Step Functions than the region's own: the laptop's."""


@immutable(kw_only=True)
class GovernSettings(ErasingSettings):
    """Of the function ``govern``: erasures are asked for here, and parts of a subject are deleted."""

    audit: Audited = _audited()


@immutable(kw_only=True)
class EraseSettings(ErasingSettings):
    """Of the function ``erase``: the tasks of the state machine."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = ErasingSettings.LOCAL_ONLY | {"receipt_key_file", "tables"}

    verify: Literal["tables", "partitions"] = field(default="tables", metadata={"choices": ("tables", "partitions")})
    """How the verifier looks for what is left of a whole subject: through the tables, or through its partitions."""
    receipt_key_arn: str | None = None
    """The KMS key that signs receipts."""
    receipt_key_file: str | None = None
    """A file with the key that signs them, instead of ``receipt_key_arn``."""
    tables: Literal["dynamodb", "dynoxide", "moto"] = field(
        default="dynamodb", metadata={"choices": ("dynamodb", "dynoxide", "moto")}
    )
    """What the tables are: receipts say how long copies live in them."""
    point_in_time_recovery_days: int = _whole(0, 0, 35)
    log_retention_days: int = _whole(0, 0, 3653)
    cache_seconds: int = _whole(300, 0, 3600)
    """Of the function ``recall``."""
    search_compaction_days: int = _whole(7, 2, 90)
    """How often deleted entries are taken out of the files of a managed domain."""


@immutable(kw_only=True)
class ReceiptKeySettings(Settings):
    """Of ``lethe receipt key``."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = Settings.LOCAL_ONLY | {"receipt_key_file"}

    receipt_key_arn: str | None = None
    receipt_key_file: str | None = None


@immutable(kw_only=True)
class AuditSettings(Settings):
    """Of ``lethe audit``. The root key is needed to find a user's entries, and for nothing else."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = Settings.LOCAL_ONLY | {"master_key"}

    ledger_table: str
    secret_arn: str | None = None
    master_key: str | None = _key()


@immutable(kw_only=True)
class AccessSettings(Settings):
    """Of the ``lethe`` command's tenants and keys."""

    LOCAL_ONLY: ClassVar[frozenset[str]] = Settings.LOCAL_ONLY | {"master_key"}

    access_table: str
    secret_arn: str | None = None
    master_key: str | None = _key()


@immutable(kw_only=True)
class OperatorSettings(Settings):
    """Of ``lethe tenants admit`` and ``lethe ledger replay``."""

    access_table: str
    ledger_table: str
    subjects_table: str
