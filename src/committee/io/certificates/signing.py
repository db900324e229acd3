"""Signatures of model files: Ed25519 over the bytes of the file, in a file of its own beside it.

OpenSSL reads the same keys and signatures:
``openssl pkeyutl -verify -rawin -in MODEL -sigfile MODEL.sig -pubin -inkey public.pem``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from committee.exceptions import ModelFileError, ParameterError

__all__ = ["SIGNATURE_SUFFIX", "check_signature", "sign_file"]

SIGNATURE_SUFFIX = ".sig"
_SIGNATURE_BYTES = 64
_HINT = "openssl genpkey -algorithm ed25519 -out private.pem"


def sign_file(
    path: str | os.PathLike[str], key: str | os.PathLike[str], output: str | os.PathLike[str] | None = None
) -> Path:
    """Sign a model file.

    Parameters
    ----------
    path : str or path
        The model file. Nothing in it is changed.
    key : str or path
        A private Ed25519 key in PEM, without a password (``openssl genpkey -algorithm ed25519 -out private.pem``).
    output : str or path, optional
        Where the 64 bytes of the signature go; by default the path with ``.sig`` added.

    Returns
    -------
    pathlib.Path
        The file of the signature.
    """
    private = _load_key(key, private=True)
    signature = private.sign(Path(path).read_bytes())
    place = Path(os.fspath(path) + SIGNATURE_SUFFIX) if output is None else Path(output)
    place.write_bytes(signature)
    return place


def check_signature(
    path: str | os.PathLike[str], key: str | os.PathLike[str], signature: str | os.PathLike[str] | None = None
) -> bool:
    """Whether a model file is the one that was signed.

    Parameters
    ----------
    path : str or path
        The model file.
    key : str or path
        The public Ed25519 key of the signer in PEM (``openssl pkey -in private.pem -pubout -out public.pem``).
    signature : str or path, optional
        The file of the signature; by default the path with ``.sig`` added.

    Returns
    -------
    bool
    """
    from cryptography.exceptions import InvalidSignature

    public = _load_key(key, private=False)
    place = Path(os.fspath(path) + SIGNATURE_SUFFIX) if signature is None else Path(signature)
    if not place.is_file():
        raise ModelFileError(f"There is no signature at {place}. committee sign makes one.")
    held = place.read_bytes()
    if len(held) != _SIGNATURE_BYTES:
        raise ModelFileError(f"{place} is no signature: it has {len(held)} bytes, not {_SIGNATURE_BYTES}.")
    try:
        public.verify(held, Path(path).read_bytes())
    except InvalidSignature:
        return False
    return True


def _load_key(path: str | os.PathLike[str], *, private: bool) -> Any:
    """An Ed25519 key; a private key also gives its public one."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ModelFileError("Signatures need the library 'cryptography': pip install 'committee[sign]'.") from None
    text = Path(path).read_bytes()
    try:
        if b"PRIVATE KEY" in text:
            found: Any = serialization.load_pem_private_key(text, password=None)
        else:
            found = serialization.load_pem_public_key(text)
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"{os.fspath(path)} is no key in PEM without a password: {error}. Make one: {_HINT}."
        ) from None
    wanted = ed25519.Ed25519PrivateKey if private else ed25519.Ed25519PublicKey
    if not private and isinstance(found, ed25519.Ed25519PrivateKey):
        found = found.public_key()
    if not isinstance(found, wanted):
        kind = "private" if private else "public"
        raise ParameterError(f"{os.fspath(path)} is not a {kind} Ed25519 key. Make one: {_HINT}.")
    return found
