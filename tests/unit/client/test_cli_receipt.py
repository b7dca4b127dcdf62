"""`lethe receipt`: valid ones are 0, anything else is 1 with the fault's name, and nothing but files is needed."""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from botocore.session import get_session
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lethe.adapters.kms import KmsSigner
from lethe.adapters.local_signer import LocalSigner
from lethe.domain.chain import hash_of
from lethe.domain.json_values import JsonObject
from lethe.services.erasure.receipts import ReceiptWriter
from tests.fakes.receipts import FakeReceipts, FakeSigner
from tests.fakes.time_and_ids import START, FixedClock
from tests.support.moto_kms import moto_kms
from tests.support.receipts import RETENTION, StandingHolds, chain_of, document_of, done_erasure, receipt_in, some_hold
from tests.support.stores import REGION
from tests.unit.client.command_line import World
from tests.unit.client.samples import erasure
from tests.unit.client.stub_service import Reply, StubService

SIGNER = FakeSigner()
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A folder with a public key in both forms, and three receipts of one tenant, each in a file."""
    key = serialization.load_der_public_key(SIGNER.public_key())
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "key.pem").write_bytes(key.public_bytes(serialization.Encoding.PEM, form))
    (tmp_path / "key.der").write_bytes(SIGNER.public_key())
    for n, document in enumerate(chain_of(random.Random(1), 3, SIGNER)):
        (tmp_path / f"{n}.json").write_text(json.dumps(document))
    return World(tmp_path)


def document_in(world: World, name: str) -> dict[str, dict[str, object]]:
    return cast("dict[str, dict[str, object]]", json.loads((world.folder / name).read_text()))


def rewrite(world: World, name: str, document: object) -> None:
    (world.folder / name).write_text(json.dumps(document))


@pytest.mark.parametrize("key", ["key.pem", "key.der"])
def test_a_valid_receipt_is_said_to_be_valid(world: World, key: str) -> None:
    receipt = document_in(world, "0.json")["receipt"]
    assert world.run("receipt", "verify", "0.json", "--key", key) == 0
    assert world.err == ""
    assert world.out.startswith(f"0.json: valid, receipt {receipt['id']}, number 1 of acme\n")
    assert "not retrievable since 2026-" in world.out
    assert world.run("--json", "receipt", "verify", "0.json", "--key", key) == 0
    assert world.answer() == {
        "valid": True,
        "receipts": [{"file": "0.json", "receipt": receipt["id"], "n": 1, "faults": []}],
        "chain": [],
    }


def test_a_changed_one_is_status_1_with_the_faults_by_name(world: World) -> None:
    document = document_in(world, "0.json")
    document["receipt"]["subject"] = "0" * 32
    rewrite(world, "0.json", document)
    assert world.run("receipt", "verify", "0.json", "--key", "key.pem") == 1
    assert world.out.splitlines()[:2] == ["0.json: not valid", "  wrong_hash at document.statement"]
    assert world.err.startswith("lethe: not valid: ")
    assert world.run("--json", "receipt", "verify", "0.json", "--key", "key.pem") == 1
    answer = cast("JsonObject", world.answer())
    assert answer["valid"] is False
    assert "wrong_hash" in world.out


def test_another_key_is_named(world: World) -> None:
    (world.folder / "other.der").write_bytes(FakeSigner(99).public_key())
    assert world.run("receipt", "verify", "0.json", "--key", "other.der") == 1
    assert "other_key at document.receipt.signing.public_key_sha256" in world.out
    assert "wrong_signature at document.signature.value" in world.out


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b'{"receipt": 1, "receipt": 2}', "not_json"),
        (b'{"receipt": NaN}', "not_json"),
        (b"[" * 100_000, "not_json"),
        (b"\xff\xfe", "not_json"),
        (b"[]", "missing_field"),
        (b"{}", "missing_field"),
        (b"7", "wrong_type"),
    ],
)
def test_what_is_no_receipt_is_said_so(world: World, content: bytes, fault: str) -> None:
    (world.folder / "0.json").write_bytes(content)
    assert world.run("receipt", "verify", "0.json", "--key", "key.pem") == 1
    assert fault in world.out


def test_several_files_are_one_chain_in_whatever_order_they_are_named(world: World) -> None:
    assert world.run("receipt", "verify", "2.json", "0.json", "1.json", "--key", "key.pem") == 0
    assert world.out.endswith(
        "3 receipts, each signed by this key: the chain of acme is whole from 1 to 3; "
        "whether it goes on after that only --end can tell\n"
    )
    assert world.run("receipt", "verify", "0.json", "2.json", "--key", "key.pem") == 1
    assert "the chain: not valid\n  out_of_order at receipts[1]\n  broken_chain at receipts[1]\n" in world.out
    assert world.run("receipt", "verify", "0.json", "2.json", "--each", "--key", "key.pem") == 0
    assert world.out.endswith("2 receipts, each signed by this key; whether they are a whole chain was not looked at\n")


@pytest.mark.parametrize("form", ["array", "lines"])
def test_a_file_with_many_is_a_chain_in_its_own_order(world: World, form: str) -> None:
    documents = [document_in(world, f"{n}.json") for n in range(3)]

    def write(order: list[int]) -> None:
        texts = [json.dumps(documents[n]) for n in order]
        text = f"[{','.join(texts)}]" if form == "array" else "\n".join(texts) + "\n"
        (world.folder / "all.json").write_text(text)

    write([0, 1, 2])
    assert world.run("receipt", "verify", "all.json", "--key", "key.pem") == 0
    for order, fault in (([0, 2, 1], "out_of_order"), ([0, 1, 1, 2], "repeated"), ([1, 2], "broken_chain")):
        write(order)
        assert world.run("receipt", "verify", "all.json", "--key", "key.pem") == 1
        assert fault in world.out


def test_a_missing_end_is_seen_by_who_knows_the_end(world: World) -> None:
    end = hash_of(document_in(world, "2.json")["receipt"])  # type: ignore[arg-type]  # JSON
    assert world.run("receipt", "verify", "0.json", "1.json", "2.json", "--end", end, "--key", "key.pem") == 0
    assert world.out.endswith("the chain of acme is whole from 1 to 3; and ends as demanded\n")
    assert world.run("receipt", "verify", "0.json", "1.json", "--key", "key.pem") == 0
    assert world.run("receipt", "verify", "0.json", "1.json", "--end", end, "--key", "key.pem") == 1
    assert "wrong_end at receipts[2]" in world.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["0.json", "--key", "nothing.pem"], "cannot be read"),
        (["nothing.json", "--key", "key.pem"], "cannot be read"),
        (["0.json", "--key", "0.json"], "not a public key"),
        (["0.json", "--key", "private.pem"], "not a public key"),
        (["0.json", "--key", "p384.pem"], "P-256"),
        (["0.json", "--each", "--end", "0" * 64, "--key", "key.pem"], "--end"),
    ],
)
def test_what_cannot_be_run_is_status_2(world: World, arguments: list[str], says: str) -> None:
    LocalSigner(world.folder / "private.pem").public_key()
    other = ec.generate_private_key(ec.SECP384R1()).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    (world.folder / "p384.pem").write_bytes(other.public_bytes(serialization.Encoding.PEM, form))
    assert world.run("receipt", "verify", *arguments) == 2
    assert says in world.err


@pytest.mark.parametrize("end", ["abc", "g" * 64, "A" * 64, "0" * 65, ""])
def test_an_end_that_is_no_hash_is_a_usage_error(world: World, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        world.run("receipt", "verify", "0.json", "--end", end, "--key", "key.pem")
    assert refused.value.code == 2
    assert "not a SHA-256" in capsys.readouterr().err


def test_show_prints_what_it_says(world: World) -> None:
    hold = some_hold(random.Random(2), "case-7")
    document = document_of(done_erasure(random.Random(2), holds=[hold]), SIGNER, holds=[hold])
    rewrite(world, "one.json", document)
    assert world.run("receipt", "show", "one.json") == 0
    receipt = receipt_in(document)
    assert str(receipt["id"]) in world.out
    assert "held_records" in world.out
    assert re.search(r"^memories +\d+ +\d+ +0 +1$", world.out, re.MULTILINE)
    assert "Nothing was checked here" in world.out
    assert re.search(r"^  hold case-7: on .+, placed at 20", world.out, re.MULTILINE)
    (held,) = (each for each in receipt["residuals"] if each["surface"] == "held_records")  # type: ignore[index, union-attr, call-overload]  # JSON
    assert f"  held_records: {held['what']}" in world.out.splitlines()  # type: ignore[index, call-overload]  # JSON
    assert "  content gone by: no date, because of held_records" in world.out.splitlines()
    assert "None" not in world.out
    assert "{" not in world.out
    assert world.run("--json", "receipt", "show", "one.json") == 0
    assert world.answer() == document


@pytest.mark.parametrize("content", ["{}", "[1]", '{"receipt": {"id": 1}}', "{"])
def test_show_of_something_else_is_status_1(world: World, content: str) -> None:
    (world.folder / "one.json").write_text(content)
    assert world.run("receipt", "show", "one.json") == 1


def test_show_fetches_the_receipt_of_an_erasure(world: World) -> None:
    document = document_in(world, "0.json")
    erasure_id = str(document["receipt"]["erasure"])
    with StubService(Reply(200, document), Reply(200, document)) as service:
        world.environment |= {"LETHE_URL": service.url, "LETHE_API_KEY": "lk_x"}
        assert world.run("--json", "receipt", "show", erasure_id) == 0
        assert world.answer() == document
        assert world.run("receipt", "show", erasure_id, "--receipt", "rc_1") == 0
    assert [asked.target for asked in service.asked] == [
        f"/v1/erasures/{erasure_id}/receipt",
        f"/v1/erasures/{erasure_id}/receipt?receipt_id=rc_1",
    ]
    assert world.run("receipt", "show", "0.json", "--receipt", "rc_1") == 2


def test_show_of_a_receipts_id_says_what_to_give(world: World) -> None:
    assert world.run("receipt", "show", "rc_1") == 2
    assert "lethe receipt show ERASURE --receipt rc_1; lethe receipt export has all of them" in world.err
    assert world.run("receipt", "show", "nothing.json") == 2
    assert world.err.endswith("name a file, or the id of an erasure (er_…)\n")


def answers_of(world: World, *numbers: int) -> list[Reply]:
    """A listing of erasures, newest first, each with the receipt of that file, and then the receipts."""
    documents = [document_in(world, f"{n}.json") for n in numbers]
    listed = [erasure(str(each["receipt"]["erasure"]), receipts=[str(each["receipt"]["id"])]) for each in documents]
    page = Reply(200, {"erasures": listed, "next_cursor": None})
    return [page, *(Reply(200, document) for document in documents)]


def test_export_writes_a_chain_that_verify_finds_whole(world: World) -> None:
    with StubService(*answers_of(world, 2, 0, 1), *answers_of(world, 2, 1, 0)) as service:
        world.environment |= {"LETHE_URL": service.url, "LETHE_API_KEY": "lk_x"}
        assert world.run("receipt", "export", "--output", "all.jsonl") == 0
        assert world.out.splitlines()[0] == "3 receipts written to all.jsonl"
        assert world.run("receipt", "export") == 0
        assert world.out == (world.folder / "all.jsonl").read_text()
    first = document_in(world, "2.json")["receipt"]
    assert service.asked[1].target == f"/v1/erasures/{first['erasure']}/receipt?receipt_id={first['id']}"
    end = hash_of(first)  # type: ignore[arg-type]  # JSON
    assert world.run("receipt", "verify", "all.jsonl", "--key", "key.pem", "--end", end) == 0
    assert world.run("receipt", "export", "--output", "all.jsonl") != 0


def test_export_of_a_key_that_does_not_see_all_is_status_1(world: World) -> None:
    with StubService(*answers_of(world, 2)) as service:
        world.environment |= {"LETHE_URL": service.url, "LETHE_API_KEY": "lk_x"}
        assert world.run("receipt", "export", "--output", "some.jsonl") == 1
    assert "no whole chain, since these are missing: 1, 2. A key that covers every user sees all" in world.err
    assert world.run("receipt", "verify", "some.jsonl", "--key", "key.pem", "--each") == 0


def test_export_of_nothing(world: World) -> None:
    with StubService(*answers_of(world)) as service:
        world.environment |= {"LETHE_URL": service.url, "LETHE_API_KEY": "lk_x"}
        assert world.run("receipt", "export") == 0
    assert world.out == ""


def test_key_prints_the_public_key_of_the_laptop(world: World) -> None:
    file = world.folder / "receipt_key.pem"
    world.environment["LETHE_RECEIPT_KEY_FILE"] = str(file)
    assert world.run("receipt", "key") == 0
    (world.folder / "mine.pem").write_text(world.out)
    signer = LocalSigner(file)
    key = serialization.load_pem_public_key(world.out.encode())
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    assert key.public_bytes(serialization.Encoding.DER, form) == signer.public_key()
    assert "PRIVATE" not in world.out
    assert world.run("--json", "receipt", "key") == 0
    answer = cast("Mapping[str, str]", world.answer())
    assert (answer["key_id"], answer["algorithm"]) == (signer.key_id, "ECDSA_SHA_256")


def test_the_key_of_a_stack_is_not_that_of_a_file_which_the_shell_still_names(world: World) -> None:
    world.signer = FakeSigner()
    arn = "arn:aws:kms:eu-central-1:123456789012:key/1"
    world.environment |= {"LETHE_RECEIPT_KEY_FILE": "left-over.pem", "LETHE_RECEIPT_KEY_ARN": arn}
    assert world.run("--json", "receipt", "key") == 0
    assert world.signed_by == {"LETHE_RECEIPT_KEY_ARN": arn}


def test_key_needs_to_know_where(world: World) -> None:
    assert world.run("receipt", "key") == 2
    assert "make dev" in world.err


def test_what_kms_signed_and_the_table_kept_is_valid(world: World) -> None:
    receipts = FakeReceipts()
    with moto_kms():
        client = get_session().create_client("kms", region_name=REGION)
        made = client.create_key(KeyUsage="SIGN_VERIFY", KeySpec="ECC_NIST_P256")  # type: ignore[attr-defined]  # no stubs of it here
        signer = KmsSigner(REGION, made["KeyMetadata"]["Arn"])
        clock = FixedClock(START + timedelta(days=40))
        writer = ReceiptWriter(
            receipts, StandingHolds(), signer, RETENTION, lambda erasure: "table_scan", "0.1.0", clock
        )
        names = [writer.write(done_erasure(random.Random(n))) for n in range(3)]
        (world.folder / "kms.der").write_bytes(signer.public_key())
    rewrite(world, "all.json", [receipts.read("acme", name) for name in names])
    assert world.run("receipt", "verify", "all.json", "--key", "kms.der", "--end", receipts.end("acme").hash) == 0


def shell_blocks(page: str) -> list[str]:
    """The blocks of shell commands of a page of the documentation."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl, with which strangers check receipts")
@pytest.mark.parametrize("damage", [None, "receipt", "statement", "signature"])
def test_a_stranger_comes_to_the_same_result_with_openssl(world: World, damage: str | None) -> None:
    """The commands of docs/receipts.md, as they stand there, with Python's json for what shells cannot do."""
    document = document_in(world, "0.json")
    if damage == "receipt":
        document["receipt"]["tenant"] = "other"
    elif damage == "statement":
        document["statement"] = str(document["statement"]).replace("acme", "acmf")  # type: ignore[assignment]  # a text
    elif damage == "signature":
        value = bytearray(base64.b64decode(str(document["signature"]["value"])))
        value[-1] ^= 1
        document["signature"]["value"] = base64.b64encode(value).decode()
    rewrite(world, "receipt.json", document)
    (world.folder / "lethe.pem").write_bytes((world.folder / "key.pem").read_bytes())
    (script,) = (block for block in shell_blocks("receipts.md") if "openssl dgst" in block)
    done = subprocess.run(
        ["sh", "-eu", "-c", script], cwd=world.folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode == 0) == (damage is None), done.stdout + done.stderr
    if damage is None:
        assert "Verified OK" in done.stdout
