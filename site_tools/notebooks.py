"""A hook of MkDocs: every notebook in docs/ is executed, and becomes a page like any other.

Notebooks are kept without output. An error in a cell ends the build.
"""

import os
from pathlib import PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import MarkdownExporter

from plefka.runtime.program_cache import COMPILE_FAST

PATIENCE = 300  # seconds for one cell
DOWNLOAD = "\n\n[:material-download: Download this notebook](download/{name}){{ .md-button }}\n"


class Notebook(File):
    """A page whose source is a notebook."""

    def is_documentation_page(self) -> bool:
        return True


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put a page and its pictures in the place of each notebook, and the notebook itself beside it to download."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(file)
        for made in pages_of(file, config):
            files.append(made)
    return files


def pages_of(file: File, config: MkDocsConfig) -> list[File]:
    """The page of a notebook, its pictures, and the notebook as it is."""
    place = PurePosixPath(file.src_uri)
    text, pictures = converted(file.content_string, place.stem)
    text += DOWNLOAD.format(name=place.name)
    return [
        Notebook.generated(config, file.src_uri, content=text),
        File.generated(config, str(place.parent / "download" / place.name), content=file.content_bytes),
        *(File.generated(config, str(place.parent / name), content=picture) for name, picture in pictures.items()),
    ]


def converted(content: str, name: str) -> tuple[str, dict[str, bytes]]:
    """The executed notebook as Markdown, and its pictures by their names."""
    notebook = executed(nbformat.reads(content, as_version=4), name)
    text, resources = MarkdownExporter().from_notebook_node(notebook, {"unique_key": f"{name}-"})
    pictures = {
        f"{name}-{number}{PurePosixPath(key).suffix}": (key, picture)
        for number, (key, picture) in enumerate(resources["outputs"].items())
    }
    for new, (key, _) in pictures.items():
        text = text.replace(f"]({key})", f"]({new})")
    return text, {new: picture for new, (_, picture) in pictures.items()}


def executed(notebook: Any, name: str) -> Any:
    """The same with the output of every cell, computed in an empty folder."""
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=PATIENCE,
            resources={"metadata": {"path": folder}},
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],
        )
        try:
            return client.execute(env={"XLA_FLAGS": COMPILE_FAST, **os.environ})
        except CellExecutionError as error:
            raise PluginError(f"{name}: a cell of the notebook failed.\n{error}") from error
