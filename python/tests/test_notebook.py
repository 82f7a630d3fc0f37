"""The notebook runs, and its cells show what they promise."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def test_the_notebook_runs_and_shows_pages():
    notebook = nbformat.read(NOTEBOOKS / "profile.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = "".join(output.get("text", "") for output in outputs)
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert "of device time" in texts and "K01" in texts and "faster" in texts
    assert len(pages) == 4 and "<table" in pages[0]
    # The comparison, the timeline and the run, in frames of their own.
    assert all("<iframe srcdoc=" in page for page in pages[1:]) and "wheel" in pages[2]
