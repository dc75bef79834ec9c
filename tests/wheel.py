"""What a wheel may hold: code, and the few files that the code reads. `python -m tests.wheel dist` looks into one."""

import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

SUFFIXES = {".py", ".typed"}
READ_BY_THE_CODE = {"__init__.pyi", "networks/examples/espresso.json", "paper/paper.toml", "tables/html_page.css"}
READ_BY_THE_CODE |= {"tables/html_page.html.jinja", "explorer/page/index.html", "explorer/page/js/main.js"}
PAGE = "explorer/page/"  # the explorer's page: these files are sent to browsers
PAGE_SUFFIXES = {".html", ".css", ".js", ".svg"}


def out_of_place(names: Iterable[str]) -> list[str]:
    """Files of the package, by their paths in it, that are neither code nor read by it: rows of experiments, say."""
    return sorted(name for name in names if not _is_in_place(name))


def _is_in_place(name: str) -> bool:
    suffix = Path(name).suffix
    return suffix in SUFFIXES or name in READ_BY_THE_CODE or (name.startswith(PAGE) and suffix in PAGE_SUFFIXES)


def files_of(wheel: Path) -> list[str]:
    """The package's files in a wheel; whatever else is there, except for metadata, keeps its whole name."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    return [name.removeprefix("plefka/") for name in names]


def main(folder: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    names = files_of(wheel)
    if wrong := out_of_place(names) or sorted(READ_BY_THE_CODE - set(names)):
        sys.exit(f"{wheel.name}: these files are out of place or missing: {', '.join(wrong)}")
    print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e3:,.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
