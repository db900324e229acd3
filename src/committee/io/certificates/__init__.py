"""Certificates of fits: what a model was fitted on, checked by fitting it again; signatures; model cards."""

from __future__ import annotations

from committee.io.certificates.signing import check_signature, sign_file
from committee.io.certificates.verification import Verification

__all__ = ["Verification", "check_signature", "sign_file"]
