"""Settings from the environment: what is missing, empty or out of range is named, its value never shown."""

import pytest

from lethe.entry.settings import AccessSettings, AuthorizeSettings, RecallSettings

_TABLES = {f"LETHE_{name}_TABLE": name.lower() for name in ("SUBJECTS", "SESSIONS", "ENTITIES", "MEMORIES", "LEDGER")}


def test_fields_come_from_their_variables_and_empty_ones_are_absent() -> None:
    settings = RecallSettings.from_environment(
        {**_TABLES, "AWS_REGION": "eu-central-1", "LETHE_SECRET_ARN": "", "LETHE_CACHE_SECONDS": "0", "OTHER": "x"}
    )
    assert settings.memories_table == "memories"
    assert settings.region == "eu-central-1"
    assert settings.secret_arn is None
    assert settings.cache_seconds == 0
    assert settings.cache_megabytes == 128
    assert settings.search_engine == "scan"
    assert settings.audit == "all"


def test_the_region_of_our_own_variable_wins_and_one_is_always_there() -> None:
    given = {"LETHE_ACCESS_TABLE": "t", "AWS_REGION": "eu-west-1", "LETHE_REGION": "eu-north-1"}
    assert AuthorizeSettings.from_environment(given).region == "eu-north-1"
    assert AuthorizeSettings.from_environment({"LETHE_ACCESS_TABLE": "t"}).region == "us-east-1"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LETHE_MEMORIES_TABLE", ""),
        ("LETHE_CACHE_MEGABYTES", "0"),
        ("LETHE_CACHE_MEGABYTES", "4097"),
        ("LETHE_CACHE_SECONDS", "-1"),
        ("LETHE_CACHE_SECONDS", "1e3"),
        ("LETHE_SEARCH_ENGINE", "grep-everything"),
        ("LETHE_AUDIT", "sometimes"),
        ("LETHE_MASTER_KEY", "too-short-a-key"),
    ],
)
def test_a_bad_value_is_refused_by_the_variables_name(variable: str, value: str) -> None:
    with pytest.raises(ValueError, match=variable) as refused:
        RecallSettings.from_environment({**_TABLES, variable: value})
    assert len(value) < 3 or value not in str(refused.value)


def test_the_key_stands_in_no_representation() -> None:
    key = "0123456789abcdef0123456789abcdef"
    settings = AccessSettings.from_environment({"LETHE_ACCESS_TABLE": "t", "LETHE_MASTER_KEY": key})
    assert settings.master_key == key
    assert key not in repr(settings)
