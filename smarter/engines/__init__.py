"""The inference servers, one file each; a file registers itself by existing."""

import sys

from smarter.core.engine import Engine
from smarter.core.registry import collect

ENGINES: dict[str, Engine] = collect(sys.modules[__name__], "ENGINE", lambda engine: engine.name)
