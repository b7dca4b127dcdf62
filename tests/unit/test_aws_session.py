"""Our short list of endpoints leads where botocore's long one leads."""

import botocore.session
import pytest
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
    url: str = client.meta.endpoint_url
    signer = client._request_signer  # type: ignore[attr-defined]  # botocore shows it nowhere else
    return f"{url} {signer.region_name} {signer.signing_name}"


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("variant", _VARIANTS, ids=lambda v: next(iter(v), "plain"))
def test_endpoints_and_signatures_are_botocores_own(service: str, variant: dict[str, bool]) -> None:
    ours, theirs = aws_session(), botocore.session.get_session()
    for region in _REGIONS:
        assert _endpoint(ours, service, region, variant) == _endpoint(theirs, service, region, variant), region


def test_other_services_are_unknown() -> None:
    with pytest.raises(UnknownServiceError):
        aws_session().create_client("s3", region_name="us-east-1")
