"""The kinds of manifests, one file or folder each; a file registers itself by existing."""

import sys

from smarter.core.kind import Kind
from smarter.core.registry import collect

KINDS: dict[tuple[str, str], Kind] = collect(sys.modules[__name__], "KIND", lambda kind: kind.key)
