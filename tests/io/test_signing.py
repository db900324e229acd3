"""Signatures of model files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import committee
from committee.exceptions import ModelFileError, ParameterError
from committee.io.certificates import check_signature, sign_file

pytest.importorskip("cryptography")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model, two pairs of keys."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    committee.save(committee.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "model")
    for name in ("one", "two"):
        key = ed25519.Ed25519PrivateKey.generate()
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        (tmp_path / f"{name}.pem").write_bytes(secret)
        public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub").write_bytes(public)
    return tmp_path


def test_a_signature_is_of_the_file_and_the_key(folder: Path) -> None:
    before = (folder / "model").read_bytes()
    place = sign_file(folder / "model", folder / "one.pem")
    assert place == folder / "model.sig"
    assert place.stat().st_size == 64
    assert (folder / "model").read_bytes() == before
    assert check_signature(folder / "model", folder / "one.pub")
    assert check_signature(folder / "model", folder / "one.pem")
    assert not check_signature(folder / "model", folder / "two.pub")
    for at in (0, len(before) // 2, len(before) - 1):
        changed = bytearray(before)
        changed[at] ^= 1
        (folder / "model").write_bytes(changed)
        assert not check_signature(folder / "model", folder / "one.pub")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_openssl_checks_the_same_signature(folder: Path) -> None:
    sign_file(folder / "model", folder / "one.pem")
    call = ["openssl", "pkeyutl", "-verify", "-rawin", "-in", "model", "-sigfile", "model.sig", "-pubin", "-inkey"]
    for key, code in (("one.pub", 0), ("two.pub", 1)):
        assert subprocess.run([*call, key], cwd=folder, capture_output=True, check=False).returncode == code


def test_what_is_no_key_or_signature(folder: Path) -> None:
    with pytest.raises(ModelFileError, match="no signature at"):
        check_signature(folder / "model", folder / "one.pub")
    (folder / "model.sig").write_bytes(b"short")
    with pytest.raises(ModelFileError, match="it has 5 bytes, not 64"):
        check_signature(folder / "model", folder / "one.pub")
    with pytest.raises(ParameterError, match="not a private Ed25519 key"):
        sign_file(folder / "model", folder / "one.pub")
    with pytest.raises(ParameterError, match="no key in PEM"):
        sign_file(folder / "model", folder / "model")


def test_without_the_library_the_sentence_says_so(folder: Path) -> None:
    code = (
        "import sys; sys.modules['cryptography.hazmat.primitives'] = None\n"
        "from committee.io.certificates import sign_file\n"
        f"sign_file({str(folder / 'model')!r}, {str(folder / 'one.pem')!r})"
    )
    path = os.pathsep.join([str(Path(committee.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert "ModelFileError: Signatures need the library 'cryptography': pip install 'committee[sign]'." in done.stderr
