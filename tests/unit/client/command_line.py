"""Runs the `lethe` command in a world of its own: a folder, an environment, streams and an access table in memory."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from lethe.domain.access import ApiKey, Tenant
from lethe.entry.wiring.erasing import receipt_signer
from lethe.errors import Conflict, NotFound
from lethe.ports import AuditTrail, Signer
from lethe.services.access import Access
from lethe.services.audit import AuditDesk
from lethe.services.erasure.replay import Replay
from lethe.services.erasure.tenants import TenantAdmission
from lethe.services.reconcile import Reconciler
from lethe.services.reembedding import Reembedder
from lethe_client.cli import main
from lethe_client.cli.surroundings import Surroundings

MASTER_KEY = b"a root key of these tests, long enough"


class AccessTable:
    """Tenants and keys in memory."""

    def __init__(self) -> None:
        self.by_name: dict[str, Tenant] = {}
        self.by_id: dict[str, ApiKey] = {}

    def put_tenant(self, tenant: Tenant) -> None:
        if tenant.name in self.by_name:
            raise Conflict("the name is taken")
        self.by_name[tenant.name] = tenant

    def tenants(self) -> tuple[Tenant, ...]:
        return tuple(sorted(self.by_name.values(), key=lambda tenant: tenant.name))

    def tenant(self, name: str) -> Tenant | None:
        return self.by_name.get(name)

    def put_key(self, key: ApiKey) -> None:
        self.by_id[key.id] = key

    def key(self, key_id: str) -> ApiKey | None:
        return self.by_id.get(key_id)

    def keys(self, tenant: str) -> tuple[ApiKey, ...]:
        return tuple(key for key in self.by_id.values() if key.tenant == tenant)

    def revoke_key(self, key_id: str, moment: datetime) -> ApiKey:
        if key_id not in self.by_id:
            raise NotFound("there is no such key")
        self.by_id[key_id] = replace(self.by_id[key_id], revoked_at=moment)
        return self.by_id[key_id]

    def fence_tenant(self, tenant: str, erasure_id: str) -> str:
        if tenant not in self.by_name:
            raise NotFound("there is no such tenant")
        self.by_name[tenant] = replace(self.by_name[tenant], fenced=self.by_name[tenant].fenced or erasure_id)
        return self.by_name[tenant].fenced or erasure_id

    def admit_tenant(self, tenant: str, erasure_id: str) -> None:
        if self.by_name[tenant].fenced == erasure_id:
            self.by_name[tenant] = replace(self.by_name[tenant], fenced=None)


class _Clock:
    def now(self) -> datetime:
        return datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


class _Ids:
    def __init__(self) -> None:
        self.given = 0

    def new(self, prefix: str) -> str:
        self.given += 1
        return f"{prefix}{self.given:026d}"


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@dataclass
class World:
    """Where commands run; `tables` are the access tables by their name in LETHE_ACCESS_TABLE, `trails` the audit
    trails by that of LETHE_LEDGER_TABLE. `err_stream` is what errors and progress are printed on,
    `stacks` are the outputs of deployed stacks by name.
    """

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    tables: dict[str, AccessTable] = field(default_factory=dict)
    out: str = ""
    err: str = ""
    reconciler: Reconciler | None = None
    reembedder: Reembedder | None = None
    admission: TenantAdmission | None = None
    replay: Replay | None = None
    trails: dict[str, AuditTrail] = field(default_factory=dict)
    index_settings: dict[str, str] = field(default_factory=dict)
    signer: Signer | None = None
    signed_by: dict[str, str] = field(default_factory=dict)
    err_stream: type[io.StringIO] = io.StringIO
    stacks: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ids = _Ids()

    def run(self, *argv: str) -> int:
        """The exit status; what was printed is in `out` and `err`."""
        out, err = io.StringIO(), self.err_stream()
        services = (
            self._access,
            self._reconciler,
            self._reembedder,
            self._audit,
            self._admission,
            self._replay,
            self._signer,
            self.stacks.__getitem__,
        )
        status = main(list(argv), Surroundings(self.environment, self.folder, out, err, *services))
        self.out, self.err = out.getvalue(), err.getvalue()
        return status

    def _signer(self, environment: Mapping[str, str]) -> Signer:
        self.signed_by = {name: value for name, value in environment.items() if "RECEIPT_KEY" in name}
        return self.signer or receipt_signer(environment)

    def answer(self) -> object:
        """What was printed, as JSON."""
        return json.loads(self.out)

    def start_laptop(self, url: str = "http://127.0.0.1:8700", table: str = "dev-access") -> None:
        """Write the file that a running laptop stack writes."""
        (self.folder / ".lethe").mkdir()
        environment = {"LETHE_ACCESS_TABLE": table, "LETHE_DYNAMODB_ENDPOINT": "http://127.0.0.1:1"}
        content = {"url": url, "api_key": "lk_dev_key", "tenant": "dev", "environment": environment}
        (self.folder / ".lethe" / "dev.json").write_text(json.dumps(content), encoding="utf-8")

    def _admission(self, environment: Mapping[str, str]) -> TenantAdmission:
        assert self.admission is not None
        self.index_settings = dict(environment)
        return self.admission

    def _replay(self, environment: Mapping[str, str]) -> Replay:
        assert self.replay is not None
        self.index_settings = dict(environment)
        return self.replay

    def _reconciler(self, environment: Mapping[str, str]) -> Reconciler:
        assert self.reconciler is not None
        self.index_settings = dict(environment)
        return self.reconciler

    def _reembedder(self, environment: Mapping[str, str]) -> Reembedder:
        assert self.reembedder is not None
        self.index_settings = dict(environment)
        return self.reembedder

    def _audit(self, environment: Mapping[str, str]) -> AuditDesk:
        return AuditDesk(self.trails[environment["LETHE_LEDGER_TABLE"]], lambda: MASTER_KEY)

    def _access(self, environment: Mapping[str, str]) -> Access:
        table = self.tables.setdefault(environment["LETHE_ACCESS_TABLE"], AccessTable())
        return Access(table, MASTER_KEY, _Clock(), self._ids)
