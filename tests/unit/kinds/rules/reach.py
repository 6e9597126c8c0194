"""N and R: who may reach the server, and the volume."""

from tests.unit.kinds.rules.bases import CUSTOM, LLAMA, OLLAMA, PVC, S3, SGLANG, TEI, TGI, VLLM
from tests.unit.kinds.rules.rule import Rule

_HOSTNAME, _OPEN, _KEY = "spec.network.hostname", "spec.network.allowUnauthenticated", "spec.network.apiKeySecret"
_FORMAT, _MODE, _SIZE = "spec.engine.apiFormat", "spec.storage.accessMode", "spec.storage.size"
_OTHERS = "x.llmhost.9999-2222-3333.api.localhost"
_OWN = "x.llmhost.1111-2222-3333.api.localhost"

RULES: tuple[Rule, ...] = (
    *(Rule("N1", base, {"network.ingress": True}, "unauthenticated", _OPEN, {"network.allowUnauthenticated": True},
           note=base["engine"]["name"]) for base in (OLLAMA, CUSTOM, TGI)),
    Rule("N2", VLLM, {"network.allowUnauthenticated": True}, "no_effect", _OPEN, {"network.ingress": True}, "warning"),
    Rule("N3", VLLM, {"network.hostname": "chat.example.com"}, "no_effect", _HOSTNAME, {"network.ingress": True},
         "warning"),
    Rule("N4", VLLM, {"network.ingress": True, "network.hostname": "api.localhost"}, "hostname", _HOSTNAME,
         {"network.hostname": "chat.example.com"}),
    Rule("N4", VLLM, {"network.ingress": True, "network.hostname": _OTHERS}, "hostname", _HOSTNAME,
         {"network.hostname": _OWN}, note="other account"),
    *(Rule("N5", VLLM, {"network.apiKeySecret": "k"}, "secret_value", _KEY, {}, secrets={"k": value}, note=repr(value))
      for value in ("", "  ", "a b", "-a", "a,b", "a\nb", "\u043a\u043b\u044e\u0447")),
    Rule("N6", VLLM, {"network.ingress": True, "network.allowUnauthenticated": True, "network.apiKeySecret": "k"},
         "contradiction", _OPEN, {"network.apiKeySecret": None}),
    *(Rule("N7", base, {"engine.apiFormat": wrong}, "api_format", _FORMAT, {"engine.apiFormat": None},
           note=f"{base['engine']['name']} {wrong}")
      for base, wrong in ((VLLM, "huggingface"), (LLAMA, "ollama_native"), (SGLANG, "huggingface"),
                          (TGI, "ollama_native"), (OLLAMA, "huggingface"), (TEI, "ollama_native"), (VLLM, "custom"))),
    # Storage.
    Rule("R1", VLLM, {"scaling.replicas": 2}, "access_mode", _MODE, {"storage.accessMode": "ReadWriteMany"}),
    Rule("R2", VLLM, {"storage.accessMode": "ReadOnlyMany"}, "access_mode", _MODE, PVC),
    Rule("R3", OLLAMA, {"scaling.replicas": 2, "storage.existingClaim": "team"}, "shared_claim", _MODE,
         {"storage.accessMode": "ReadWriteMany"}, "warning"),
    Rule("R3", VLLM, {"scaling.replicas": 2, "storage.existingClaim": "team"}, "shared_claim", _MODE,
         {"scaling.replicas": 1}, "warning", "vllm"),
    Rule("R3", VLLM, {**PVC, "scaling.replicas": 2}, "shared_claim", _MODE, {"storage.accessMode": "ReadOnlyMany"},
         "warning", "pvc"),
    Rule("R4", VLLM, {"model.parameterCount": 8_000_000_000, "storage.size": "1Gi"}, "small_volume", _SIZE,
         {"storage.size": "50Gi"}, "warning"),
    Rule("R5", VLLM, {"storage.size": "40Gi"}, "immutable", _SIZE, {"storage.size": "200Gi"},
         stored={"storage.size": "100Gi"}),
    Rule("R5", VLLM, {"storage.accessMode": "ReadWriteMany"}, "immutable", _MODE,
         {"storage.accessMode": "ReadWriteOnce"}, stored={}, note="mode"),
    Rule("R5", VLLM, {"storage.storageClass": "b"}, "immutable", "spec.storage.storageClass",
         {"storage.storageClass": "a"}, stored={"storage.storageClass": "a"}, note="class"),
    *(Rule("R6", VLLM, {path: value}, "quantity", f"spec.{path}", {path: right}, note=f"{path} {value}")
      for path, value, right in (
        ("resources.memory", "24GB", "24Gi"), ("resources.memory", "-1", "24Gi"), ("resources.memory", "1e30", "24Gi"),
        ("resources.memory", "0", "24Gi"), ("resources.shmSize", "8GiB", "8Gi"), ("resources.cpu", "4 cores", "4"),
        ("resources.cpu", "1000000000", "4"), ("storage.size", "50 Gi", "50Gi"), ("storage.size", "2Ei", "50Gi"),
        ("resources.shmSize", "10Pi", "8Gi"), ("resources.cpu", ".5", "500m"),
        ("resources.memory", "\u0661Gi", "24Gi"))),
    # Of no number.
    Rule("", VLLM, {**PVC, "storage.existingClaim": "lh-other-0123456789"}, "claim", "spec.storage.existingClaim", PVC,
         note="claim of another host"),
    Rule("", VLLM, {**PVC, "storage.existingClaim": "a/b"}, "name", "spec.storage.existingClaim", PVC,
         note="claim name"),
    Rule("", VLLM, {"storage.storageClass": "Fast Class"}, "name", "spec.storage.storageClass",
         {"storage.storageClass": "fast"}, note="class name"),
    Rule("", VLLM, {**S3, "engine.env": {"AWS_ENDPOINT_URL": "https://10.0.0.5"}}, "address",
         "spec.engine.env.AWS_ENDPOINT_URL", {"engine.env": {"AWS_ENDPOINT_URL": "https://s3.example.com"}},
         note="private store"),
)  # fmt: skip
