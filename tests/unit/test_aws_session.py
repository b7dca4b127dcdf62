"""Our short list of endpoints leads where botocore's long one leads."""

import botocore.session
import pytest
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import UnknownServiceError

from lethe.adapters.aws_session import SERVICES, aws_session

_REGIONS = ("us-east-1", "eu-central-1", "ap-southeast-5", "cn-north-1", "us-gov-west-1", "eusc-de-east-1")
_VARIANTS: tuple[dict[str, bool], ...] = ({}, {"use_fips_endpoint": True}, {"use_dualstack_endpoint": True})


def _endpoint(session: botocore.session.Session, service: str, region: str, variant: dict[str, bool]) -> str:
    client = session.create_client(
        service,
        region_name=region,
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(**variant),  # type: ignore[arg-type]  # the names above
    )
    model = client.meta.service_model
    operation = model.operation_model(model.operation_names[0])
    # botocore shows neither of them anywhere else. Requests go where the rules say, not to `meta.endpoint_url`.
    signer, rules = client._request_signer, client._ruleset_resolver  # type: ignore[attr-defined]
    endpoint = rules.construct_endpoint(operation_model=operation, call_args={}, request_context={})
    return f"{endpoint.url} {signer.region_name} {signer.signing_name}"


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("variant", _VARIANTS, ids=lambda v: next(iter(v), "plain"))
def test_endpoints_and_signatures_are_botocores_own(service: str, variant: dict[str, bool]) -> None:
    ours, theirs = aws_session(), botocore.session.get_session()
    for region in _REGIONS:
        assert _endpoint(ours, service, region, variant) == _endpoint(theirs, service, region, variant), region


def test_other_services_are_unknown() -> None:
    with pytest.raises(UnknownServiceError):
        aws_session().create_client("s3", region_name="us-east-1")


_EVENTS = (
    "before-parameter-build before-call request-created choose-signer before-sign before-send response-received "
    "needs-retry before-parse after-call after-call-error provide-client-params"
).split()


@pytest.mark.parametrize("service", SERVICES)
def test_every_call_meets_the_handlers_that_it_would_meet_in_botocore(service: str) -> None:
    ours, theirs = (
        session.create_client(service, region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")
        for session in (aws_session(), botocore.session.get_session())
    )
    hyphenated = ours.meta.service_model.service_id.hyphenize()
    heard = 0
    for operation in ours.meta.service_model.operation_names:
        for event in _EVENTS:
            name = f"{event}.{hyphenated}.{operation}"
            assert _handlers(ours, name) == _handlers(theirs, name), name
            heard += len(_handlers(ours, name))
    assert heard > 0


def _handlers(client: BaseClient, event: str) -> list[str]:
    """The names of those that hear of an event, which botocore shows nowhere else. Their order is left out: what others
    hang onto every session, as Powertools does, comes before ours and behind botocore's.
    """
    emitter = client.meta.events._emitter  # type: ignore[attr-defined]
    heard = emitter._handlers.prefix_search(event)
    return sorted(getattr(handler, "__qualname__", type(handler).__qualname__) for handler in heard)
