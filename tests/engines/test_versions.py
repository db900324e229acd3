import numpy as np

import committee
from committee.engines.versions import collect_versions


def test_versions_name_the_build_and_the_packages(capsys):
    versions = collect_versions()
    assert versions["packages"]["numpy"] == np.__version__
    assert versions["packages"]["committee"] == committee.__version__
    assert "missing" not in versions["packages"].values()
    core = versions["core"]
    assert core["compiler"].split()[0] in {"GCC", "Clang"}
    assert core["instruction set"].split(",")[0] in {"aarch64", "x86-64", "portable"}
    assert int(core["usable cores"]) >= 1

    committee.show_versions()
    printed = capsys.readouterr().out
    for topic, facts in versions.items():
        assert f"{topic}\n" in printed
        for name, value in facts.items():
            assert f"  {name}: {value}\n" in printed + "\n"


def test_an_absent_required_package_is_listed(monkeypatch):
    from committee.engines import versions

    installed = versions._is_installed
    monkeypatch.setattr(versions, "_is_installed", lambda name: name != "narwhals" and installed(name))
    assert versions.collect_versions()["packages"]["narwhals"] == "missing"
