"""The places that weights come from, one file each; a file registers itself by existing."""

import sys

from smarter.core.registry import collect
from smarter.core.source import Source

SOURCES: dict[str, Source] = collect(sys.modules[__name__], "SOURCE", lambda source: source.name)
