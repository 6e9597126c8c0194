"""
Manifest model of the kind LLMHost, written by scripts/generate_models.py.
Do not edit it. Change smarter/models/sam/schema/LLMHost.json and run the program again.
"""
from __future__ import annotations

# A bound such as conint(ge=1) is a call, which a type checker does not accept as a type, and the default of an enum
# is the plain text that the attribute holds.
# mypy: disable-error-code="valid-type,assignment"

from datetime import datetime
from enum import Enum
from typing import Any

from pydantic import ConfigDict, Field, confloat, conint, constr
from smarter.models.sam.base import SAMModel


class SAMDependency(SAMModel):
    """A resource that refers to the one in this manifest."""

    model_config = ConfigDict(
        extra="forbid",
    )
    kind: str = Field(..., title="Kind")
    """The kind of the resource that refers to this one, for example LLMHost."""
    name: str = Field(..., title="Name")
    """The name of the resource that refers to this one."""


class ConditionStatus(Enum):
    """
    How a watched aspect stands.
    """

    True_ = "True"
    False_ = "False"
    Unknown = "Unknown"


class SAMCondition(SAMModel):
    """One watched aspect of a resource, and how it stands."""

    model_config = ConfigDict(
        extra="forbid",
    )
    lastTransitionTime: datetime | None = Field(None, title="Lasttransitiontime")
    """When `status` last changed."""
    message: str | None = Field(None, title="Message")
    """What happened, and what to do about it."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that was judged."""
    reason: str | None = Field(None, title="Reason")
    """One word for the cause, stable and meant for programs."""
    status: ConditionStatus = Field(..., title="Status")
    """Whether the aspect holds. Unknown means that it could not be found out."""
    type: str = Field(..., title="Type")
    """The aspect, for example Ready."""


class SAMLLMHostMetadata(SAMModel):
    """What identifies and describes the LLMHost."""

    model_config = ConfigDict(
        extra="forbid",
    )
    annotations: list[dict[constr(max_length=253), Any]] | None = Field(None, max_length=64, title="Annotations")
    """Extra facts for people and programs, as a list of maps with one key each."""
    description: constr(max_length=2048) | None = Field(None, title="Description")
    """A sentence or two on what this LLMHost is for."""
    name: constr(min_length=1) = Field(..., title="Name")
    """The name of the LLMHost, unique for its kind within the account. Lower case letters, digits and single underscores, at most 50 characters."""
    tags: list[constr(min_length=1, max_length=64)] | None = Field(None, max_length=64, title="Tags")
    """Words to group and find resources by."""
    version: constr(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$", max_length=64) | None = (
        Field(None, title="Version")
    )
    """The version of this document, in semantic versioning, for example 1.0.0."""


class ApiFormat(Enum):
    """
    The protocol that clients speak to the server.
    """

    openai_compatible = "openai_compatible"
    huggingface = "huggingface"
    ollama_native = "ollama_native"
    custom = "custom"


class Name(Enum):
    """
    Which server program to run.
    """

    vllm = "vllm"
    tgi = "tgi"
    sglang = "sglang"
    llama_cpp = "llama_cpp"
    ollama = "ollama"
    tei = "tei"
    custom = "custom"


class SAMLLMHostEngineConfig(SAMModel):
    """The server program that answers requests, and how it is started. Settings that most servers share have a field here and are translated into the arguments of the chosen server; `args` and `env` pass on anything else unchanged."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiFormat: ApiFormat | None = Field("openai_compatible", title="Apiformat")
    """The protocol that clients speak to the server."""
    args: list[constr(max_length=4096)] | None = Field(None, max_length=256, title="Args")
    """More command line arguments, handed to the server unchanged after those that Smarter sets."""
    command: list[constr(max_length=4096)] | None = Field(None, max_length=64, title="Command")
    """Replaces the program that the image starts. Only for the custom engine."""
    contextLength: conint(ge=1, le=2147483647) | None = Field(None, title="Contextlength")
    """The longest context, in tokens, that the server reserves memory for."""
    dtype: constr(max_length=64) | None = Field(None, title="Dtype")
    """The number format that the server computes in, for example auto, bfloat16 or float16."""
    env: dict[constr(max_length=253), constr(max_length=32768)] | None = Field(None, title="Env")
    """More environment variables for the server. Their names may not start with SMARTER_."""
    gpuMemoryUtilization: confloat(le=1.0, gt=0.0) | None = Field(None, title="Gpumemoryutilization")
    """The share of the memory of each GPU that the server may take, above 0 and up to 1."""
    image: constr(max_length=512) | None = Field(None, title="Image")
    """The container image to run. Left out, it is the image that Smarter has tried for the engine. The custom engine has none and must name one."""
    maxConcurrentRequests: conint(ge=1, le=65536) | None = Field(None, title="Maxconcurrentrequests")
    """How many requests one replica works on at the same time."""
    name: Name = Field(..., title="Name")
    """Which server program to run."""
    port: conint(ge=1, le=65535) | None = Field(None, title="Port")
    """The port that the server listens on in its container. Left out, it is the usual one of the engine. The custom engine has none and must name one."""
    tensorParallelSize: conint(ge=1, le=16) | None = Field(None, title="Tensorparallelsize")
    """Over how many GPUs one replica splits the model."""
    trustRemoteCode: bool | None = Field(False, title="Trustremotecode")
    """Lets the server run Python code that comes with the model. Turn it on only for a publisher that you trust."""


class SAMLLMHostHealthCheck(SAMModel):
    """How Smarter finds out whether a replica is ready and alive."""

    model_config = ConfigDict(
        extra="forbid",
    )
    path: constr(max_length=1024) | None = Field(None, title="Path")
    """The HTTP path that is asked, for example /health. Left out, it is the one of the engine."""
    periodSeconds: conint(ge=1, le=300) | None = Field(10, title="Periodseconds")
    """The seconds between two probes."""
    startupTimeoutSeconds: conint(ge=60, le=21600) | None = Field(3600, title="Startuptimeoutseconds")
    """How many seconds a server may take to fetch and load the weights. After that it is restarted, so large models need more."""


class Quantization(Enum):
    """
    The number format of the stored weights.
    """

    none = "none"
    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"
    fp8 = "fp8"
    mxfp4 = "mxfp4"
    int8 = "int8"
    int4 = "int4"
    gguf = "gguf"
    awq = "awq"
    gptq = "gptq"


class Source(Enum):
    """
    The place that the weights come from.
    """

    huggingface = "huggingface"
    ollama = "ollama"
    s3 = "s3"
    url = "url"
    pvc = "pvc"


class Task(Enum):
    """
    What the model is used for.
    """

    text_generation = "text-generation"
    embedding = "embedding"


class SAMLLMHostModelCapabilities(SAMModel):
    """What the model is able to do. Clients read this to choose a model; it changes nothing in how the model is served."""

    model_config = ConfigDict(
        extra="forbid",
    )
    functionCalling: bool | None = Field(False, title="Functioncalling")
    """The model can call functions. Some engines need arguments for this as well."""
    reasoning: bool | None = Field(False, title="Reasoning")
    """The model thinks before it answers."""
    streaming: bool | None = Field(True, title="Streaming")
    """Answers arrive piece by piece."""
    vision: bool | None = Field(False, title="Vision")
    """The model understands images."""


class SAMLLMHostNetwork(SAMModel):
    """How clients reach the server. Inside the cluster it always has an address of its own. With `ingress` it also has a public HTTPS address, which asks for an API key unless `allowUnauthenticated` is set."""

    model_config = ConfigDict(
        extra="forbid",
    )
    allowUnauthenticated: bool | None = Field(False, title="Allowunauthenticated")
    """Allows a public address for a server that cannot check API keys. Whoever knows the address can then use the model."""
    apiKeySecret: constr(max_length=128) | None = Field(None, title="Apikeysecret")
    """The name of the Secret that holds the API key of clients. Left out, a key is made at the first launch and stored in the Secret llmhost_<name>_api_key."""
    hostname: constr(max_length=253) | None = Field(None, title="Hostname")
    """The public host name. Left out, it is made from the name of the host, the account number and the API domain."""
    ingress: bool | None = Field(False, title="Ingress")
    """Gives the server a public HTTPS address."""


class SAMLLMHostResources(SAMModel):
    """What one replica, which is one pod, asks of the cluster. A node of the chosen compute must be able to give it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    cpu: constr(max_length=32) | None = Field(None, title="Cpu")
    """The processor time of the pod as a Kubernetes quantity, for example 4 or 3500m."""
    gpuCount: conint(ge=0, le=16) | None = Field(0, title="Gpucount")
    """The GPUs of one replica. With 0 the model runs on processors."""
    gpuResource: constr(max_length=317) | None = Field("nvidia.com/gpu", title="Gpuresource")
    """The name under which the cluster hands out GPUs."""
    memory: constr(max_length=32) | None = Field(None, title="Memory")
    """The memory of the pod, both asked for and at most used, for example 24Gi."""
    nodeSelector: dict[constr(max_length=317), constr(max_length=63)] | None = Field(None, title="Nodeselector")
    """Labels that a node must carry, besides those of the compute."""
    serviceAccountName: constr(max_length=253) | None = Field(None, title="Serviceaccountname")
    """The Kubernetes service account of the pod. Left out, it is one without any rights."""
    shmSize: constr(max_length=32) | None = Field("8Gi", title="Shmsize")
    """The size of the shared memory, /dev/shm."""
    tolerations: list[dict[constr(max_length=317), Any]] | None = Field(None, max_length=32, title="Tolerations")
    """Kubernetes tolerations of the pod. The one for GPU nodes is added when GPUs are asked for."""
    vramRequiredGb: conint(ge=0, le=65536) | None = Field(None, title="Vramrequiredgb")
    """The GPU memory that the model needs, in GB. For information only."""


class SAMLLMHostScaling(SAMModel):
    """How many copies of the server run."""

    model_config = ConfigDict(
        extra="forbid",
    )
    replicas: conint(ge=1, le=16) | None = Field(1, title="Replicas")
    """The number of copies. More than one needs a volume that several pods can mount."""


class SAMWarning(SAMModel):
    """A remark on one field of the manifest."""

    model_config = ConfigDict(
        extra="forbid",
    )
    code: str = Field(..., title="Code")
    """What it is about, a stable word for programs."""
    message: str = Field(..., title="Message")
    """What was noticed, and what to do about it."""
    path: str = Field(..., title="Path")
    """The field, dotted, for example spec.engine.image. Empty for the whole manifest."""


class SAMLLMHostProgress(SAMModel):
    """How far the weights are that are being brought to the volume."""

    model_config = ConfigDict(
        extra="forbid",
    )
    bytes: conint(ge=0) = Field(..., title="Bytes")
    """How many bytes have arrived."""
    percent: conint(ge=0, le=100) | None = Field(None, title="Percent")
    """The share of all bytes that has arrived, where their number is known."""
    totalBytes: conint(ge=0) | None = Field(None, title="Totalbytes")
    """How many bytes there are, where that is known."""


class SAMLLMHostStatus(SAMModel):
    """How the host is doing, where it answers and what it has cost, as of the last look at the cluster. Smarter writes it."""

    model_config = ConfigDict(
        extra="forbid",
    )
    accountNumber: str = Field(..., title="Accountnumber")
    """The number of the account that owns this LLMHost."""
    apiKeySecret: str | None = Field(None, title="Apikeysecret")
    """The name of the Secret with the API key, if there is one."""
    conditions: list[SAMCondition] | None = Field(None, max_length=64, title="Conditions")
    """The state in detail, one entry for each aspect that is watched."""
    created: datetime = Field(..., title="Created")
    """When this LLMHost was first stored."""
    dependencies: list[SAMDependency] | None = Field(None, max_length=10000, title="Dependencies")
    """The resources that refer to this one. Delete them first, or stop them referring to it. Only those that the reader may see are listed."""
    deployedAt: datetime | None = Field(None, title="Deployedat")
    """When the host was last launched."""
    endpoint: str | None = Field(None, title="Endpoint")
    """The base address for clients inside the cluster."""
    estimatedCost: float | str | None = Field(None, title="Estimatedcost")
    """What the host has cost since its first launch: the time of every replica at the price of its share of the node."""
    healthy: bool | None = Field(None, title="Healthy")
    """Whether the last health probe succeeded."""
    hostStatus: str | None = Field(None, title="Hoststatus")
    """Where the host is in its life, for example pending, downloading, active or error."""
    lastCheckedAt: datetime | None = Field(None, title="Lastcheckedat")
    """When the cluster was last asked about this host."""
    message: str | None = Field(None, title="Message")
    """Why the host is in its state, and what to do about it."""
    modified: datetime = Field(..., title="Modified")
    """When this LLMHost was last changed by a manifest."""
    observedGeneration: int | None = Field(None, title="Observedgeneration")
    """The generation of the manifest that this status describes. It lags behind right after a change."""
    pricePerHour: float | str | None = Field(None, title="Priceperhour")
    """What the host costs in an hour when all its replicas run."""
    progress: SAMLLMHostProgress | None = None
    """How far the weights are that are being brought. Empty while none are."""
    publicUrl: str | None = Field(None, title="Publicurl")
    """The base address for clients outside the cluster, if there is one."""
    readyReplicas: int | None = Field(None, title="Readyreplicas")
    """How many replicas answer requests."""
    recordLocator: str = Field(..., title="Recordlocator")
    """An identifier that finds the stored record of this manifest."""
    replicas: int | None = Field(None, title="Replicas")
    """How many replicas are wanted."""
    uptimeHours: float | None = Field(None, title="Uptimehours")
    """The hours since the host was last launched."""
    username: str = Field(..., title="Username")
    """The user who created this LLMHost."""
    warnings: list[SAMWarning] | None = Field(None, max_length=64, title="Warnings")
    """Remarks on the manifest that did not stop it."""


class AccessMode(Enum):
    """
    How pods may mount the volume.
    """

    ReadWriteOnce = "ReadWriteOnce"
    ReadWriteMany = "ReadWriteMany"
    ReadOnlyMany = "ReadOnlyMany"


class SAMLLMHostStorage(SAMModel):
    """The volume that holds the weights, so that a server which starts again does not have to fetch them again."""

    model_config = ConfigDict(
        extra="forbid",
    )
    accessMode: AccessMode | None = Field("ReadWriteOnce", title="Accessmode")
    """How pods may mount the volume."""
    existingClaim: constr(max_length=253) | None = Field(None, title="Existingclaim")
    """The name of a PersistentVolumeClaim that already exists, used instead of a new one. Needed when the weights come from a volume."""
    retain: bool | None = Field(True, title="Retain")
    """Keeps the volume and the weights when the host is undeployed. Deleting the host removes the volume in any case."""
    size: constr(max_length=32) | None = Field("50Gi", title="Size")
    """The size of the volume, for example 50Gi."""
    storageClass: constr(max_length=253) | None = Field(None, title="Storageclass")
    """The Kubernetes storage class. Left out, it is the default of the cluster."""


class SAMLLMHostModel(SAMModel):
    """The model to serve, and the place that its weights come from."""

    model_config = ConfigDict(
        extra="forbid",
    )
    architecture: constr(max_length=128) | None = Field(None, title="Architecture")
    """The family of the model, for example llama, qwen3 or gemma3."""
    capabilities: SAMLLMHostModelCapabilities | None = None
    """What the model is able to do."""
    contextWindow: conint(ge=0, le=2147483647) | None = Field(None, title="Contextwindow")
    """The longest context that the model itself supports, in tokens."""
    embeddingDimensions: conint(ge=0, le=1048576) | None = Field(None, title="Embeddingdimensions")
    """The length of the vectors that an embedding model returns."""
    file: constr(max_length=1024) | None = Field(None, title="File")
    """One file of the repository to take the weights from, for example a GGUF file. With ollama and a Hugging Face repository it is the quantization tag, for example Q4_K_M."""
    license: constr(max_length=256) | None = Field(None, title="License")
    """The licence of the model, for example apache-2.0."""
    parameterCount: conint(ge=0, le=9007199254740991) | None = Field(None, title="Parametercount")
    """How many parameters the model has."""
    quantization: Quantization | None = Field("none", title="Quantization")
    """The number format of the stored weights."""
    repository: constr(min_length=1, max_length=2048) = Field(..., title="Repository")
    """Which model to take, written as its source expects it: owner/name for Hugging Face, a tag such as llama3.1:8b for Ollama, s3://bucket/prefix for S3, an http or https address for url, a path inside the volume for pvc."""
    revision: constr(max_length=255) | None = Field(None, title="Revision")
    """The branch, tag or commit of a Hugging Face repository. Name a commit to get the same weights each time. Left out, it is main."""
    servedName: constr(max_length=255) | None = Field(None, title="Servedname")
    """The model name that clients put in their requests. Left out, it is the name of the host. Ollama goes by the repository instead."""
    source: Source | None = Field("huggingface", title="Source")
    """The place that the weights come from."""
    task: Task | None = Field("text-generation", title="Task")
    """What the model is used for."""
    tokenSecret: constr(max_length=128) | None = Field(None, title="Tokensecret")
    """The name of the Secret that holds a Hugging Face token, for models that are given out only after their terms were accepted."""


class SAMLLMHostSpec(SAMModel):
    """What to serve, with which server, on which machines."""

    model_config = ConfigDict(
        extra="forbid",
    )
    compute: constr(max_length=128) | None = Field(None, title="Compute")
    """The LLMHostCompute to run on. Left out, it is the cheapest one that is large enough."""
    engine: SAMLLMHostEngineConfig
    """The server program."""
    healthCheck: SAMLLMHostHealthCheck | None = None
    """The probes."""
    model: SAMLLMHostModel
    """The model and its weights."""
    network: SAMLLMHostNetwork | None = None
    """How clients reach the server."""
    resources: SAMLLMHostResources | None = None
    """What one replica asks of the cluster."""
    scaling: SAMLLMHostScaling | None = None
    """How many copies run."""
    storage: SAMLLMHostStorage | None = None
    """The volume for the weights."""


class SAMLLMHost(SAMModel):
    """A large language model that runs on a cluster of yours and answers requests."""

    model_config = ConfigDict(
        extra="forbid",
    )
    apiVersion: constr(max_length=64) = Field(..., title="Apiversion")
    """The vocabulary that the manifest is written in: smarter.sh/v1."""
    kind: constr(max_length=64) = Field(..., title="Kind")
    """The kind of resource that the manifest describes: LLMHost."""
    metadata: SAMLLMHostMetadata
    """What identifies and describes the LLMHost."""
    spec: SAMLLMHostSpec
    """What to serve, with which server, on which machines."""
    status: SAMLLMHostStatus | None = None
    """The state of the LLMHost. Smarter writes it; what a manifest says here is ignored."""
