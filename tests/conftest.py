"""What tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.api import Api, ApiStack, TenantOnStack, running_stack


@pytest.fixture(scope="session")
def api_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    """One running stack for all tests of the HTTP API; each takes a tenant of its own."""
    with running_stack(tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture
def tenant(api_stack: ApiStack) -> TenantOnStack:
    return api_stack.tenant()


@pytest.fixture
def api(tenant: TenantOnStack) -> Api:
    """A client with a key that may do everything for every user of an empty tenant."""
    return tenant.admin
