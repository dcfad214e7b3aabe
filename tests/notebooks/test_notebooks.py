"""The notebooks of the documentation run, and are stored with their outputs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATHS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
MOST_BYTES = 200_000

nbformat = pytest.importorskip("nbformat", reason="needs the group notebooks")
pytest.importorskip("nbclient", reason="needs the group notebooks")
pytest.importorskip("ipykernel", reason="needs the group notebooks")
pytest.importorskip("matplotlib", reason="needs the extra experiments")
pytest.importorskip("scipy", reason="needs the extra experiments")

notebooks = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def execution():
    """The module that ``make notebooks`` runs."""
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs/hooks/notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outputs_of(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def shown(notebook):
    """What outputs show, as text and without times."""
    texts = [
        output.text if output.output_type == "stream" else output.data.get("text/plain", "")
        for output in outputs_of(notebook)
    ]
    return [re.sub(r"[\d.]+ s\b", "_ s", text) for text in texts]


def test_there_are_notebooks():
    assert len(PATHS) == 3


@notebooks
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_it_runs(path):
    executed = execution().executed(path)
    assert not [o for o in outputs_of(executed) if o.get("name") == "stderr"]
    assert len(shown(executed)) == len(shown(nbformat.read(path, as_version=4)))


@notebooks
def test_it_is_stored_with_its_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert outputs_of(notebook)
    assert not [o for o in outputs_of(notebook) if o.output_type == "error"]
    assert path.stat().st_size < MOST_BYTES
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work|Users|usr)/", text)
    assert any("pass" in line for line in shown(notebook))  # progress is kept


def test_an_error_is_noticed(tmp_path):
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(notebook, tmp_path / "broken.ipynb")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        execution().executed(tmp_path / "broken.ipynb")
