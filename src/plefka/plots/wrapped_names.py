"""Names in lines that break where words end: behind spaces, underscores, hyphens and slashes."""

import re
from textwrap import TextWrapper

WORD_END = re.compile(r"(\s+|[^\s_/-]*[_/-]+)")


def wrapped(name: str, letters: int, lines: int, longest: int = 0) -> str:
    """The name in lines of so many letters; a word may have as many as `longest`, and only what is more is cut."""
    wrapper = TextWrapper(letters, max_lines=lines, placeholder="...", break_long_words=False)
    wrapper.wordsep_re = WORD_END
    most = max(letters, longest)
    return "\n".join(line if len(line) <= most else f"{line[: most - 3]}..." for line in wrapper.wrap(name))
