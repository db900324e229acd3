"""The recorded scenes of the documentation, opened as files: no server, no network, the same scripts."""

from pathlib import Path

import pytest
from extensions.lab_scenes import SCENES, Scene, write_scenes

from tests.cli.browser import find_browser
from tests.lab.lab_page import open_lab_page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    find_browser()
    made = tmp_path_factory.mktemp("scenes")
    write_scenes(made)
    return made


def test_there_are_three_scenes_of_sixty_rounds() -> None:
    assert len(SCENES) == 3
    assert {scene.state.method for scene in SCENES} == {"adaboost", "boosting", "forest"}
    assert {scene.state.rounds for scene in SCENES} == {60}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_sixty_frames_of_a_recording(scene: Scene, folder: Path, tmp_path: Path) -> None:
    path = (folder / f"{scene.name}.html").resolve()
    with open_lab_page(tmp_path, path.as_uri()) as page:
        page.open_state("")
        assert page.run("document.getElementById('title').textContent") == scene.title
        assert page.run("document.getElementById('controls').offsetHeight") == 0
        if scene.state.task == "classification":
            page.wait_for_films()
        page.wait("document.getElementById('bias').getAttribute('aria-busy') === 'false'")
        pictures, errors = [], []
        for number in range(1, 61):
            page.set_slider("round", number)
            page.wait(f"document.getElementById('round-text').textContent === '{number} of 60'")
            pictures.append(page.read_pixels())
            errors.append(page.run("document.querySelector('#errors li').textContent"))
        # Each frame has a picture of its own, in several colours; the training error falls.
        assert all(n_colors > 10 for _, n_colors in pictures)
        assert len(set(pictures)) == 60
        assert float(errors[-1].split()[1]) < float(errors[0].split()[1])
        page.browser.open(path, width=390, scheme="dark")
        page.wait("document.body.dataset.ready === 'true'")
        assert page.run("document.documentElement.scrollWidth") <= 390
        page.run("window.postMessage({theme: 'light'}, '*')")
        page.wait("getComputedStyle(document.documentElement).getPropertyValue('--scheme').trim() === 'light'")
        page.check_quiet()
