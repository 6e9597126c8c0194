"""JSON and YAML for answers, chosen by the Accept header."""

from typing import Any

import orjson
import yaml
from rest_framework.renderers import BaseRenderer


class JsonRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return b"" if data is None else orjson.dumps(data)


class _Dumper(yaml.CSafeDumper):
    """Without anchors, which strict YAML refuses: what is read can be sent back."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class YamlRenderer(BaseRenderer):
    """Text passes as it is: it is YAML already."""

    media_type = "application/yaml"
    format = "yaml"
    charset = "utf-8"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        if isinstance(data, str):
            return data.encode()
        # Dumped by way of JSON, so that both forms say the same about times and numbers.
        plain = orjson.loads(orjson.dumps(data))
        return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=4096, encoding="utf-8")


class XYamlRenderer(YamlRenderer):
    media_type = "application/x-yaml"


class TextYamlRenderer(YamlRenderer):
    media_type = "text/yaml"


RENDERERS = [JsonRenderer, YamlRenderer, XYamlRenderer, TextYamlRenderer]
