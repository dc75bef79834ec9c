"""A hook of MkDocs: the pages need nothing from elsewhere.

The theme fetches the script by which its search runs from a folder of files; the copy in docs/javascripts/ takes its
place. Any other script, style sheet, picture or font from elsewhere ends the build.
"""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

SCRIPT = "javascripts/iframe-worker.js"
FETCHED = re.compile(r'"https?://[^"/]+/iframe-worker/shim"')
FROM_ELSEWHERE = re.compile(r'<(?:script|img|link|iframe|source)\b[^>]*(?:src|href)="((?:https?:)?//[^"]+)"')
NOT_FETCHED = re.compile(r'<link rel="canonical"[^>]*>')


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    return self_contained(output, page.url)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """404.html, which is no page of its own."""
    return self_contained(output_content, template_name) if template_name.endswith(".html") else output_content


def self_contained(text: str, url: str) -> str:
    """The page with the script of this site, refused where it would fetch anything else."""
    text = FETCHED.sub(f'"{get_relative_url(SCRIPT, url)}"', text)
    if fetched := FROM_ELSEWHERE.findall(NOT_FETCHED.sub("", text)):
        raise PluginError(f"{url} must not fetch anything from elsewhere; got {', '.join(fetched)}.")
    return text
