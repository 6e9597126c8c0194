"""Null, left out and written out are the same manifest."""

import json

from smarter.core.defaults import filled
from smarter.models.sam.base import load
from smarter.models.sam.llm_host import SAMLLMHost, SAMLLMHostResources
from tests.llm_hosts import host, objects


def test_null_is_left_out_and_left_out_is_the_default() -> None:
    short = host()
    nulls = host({"model.source": None, "network": {"ingress": None}, "scaling": {"replicas": None}, "storage": {}})
    full = host(
        {"model.source": "huggingface", "network.ingress": False, "scaling.replicas": 1, "storage.size": "50Gi",
         "storage.accessMode": "ReadWriteOnce", "healthCheck.periodSeconds": 10, "resources.shmSize": "8Gi"}
    )  # fmt: skip
    assert json.dumps(objects(short)) == json.dumps(objects(nulls)) == json.dumps(objects(full))


def test_blocks_are_there_and_what_was_said_is_still_known() -> None:
    spec = filled(host({"resources.shmSize": "1Gi"}).spec)
    assert spec.network is not None
    assert spec.network.ingress is False
    assert spec.model.capabilities is not None
    assert spec.model.capabilities.streaming is True
    assert spec.resources is not None
    assert "shmSize" in spec.resources.model_fields_set
    assert "gpuResource" not in spec.resources.model_fields_set
    assert spec.resources.gpuResource == "nvidia.com/gpu"
    null = load(SAMLLMHostResources, {"shmSize": None})
    assert "shmSize" not in filled(null).model_fields_set


def test_filling_twice_changes_nothing_and_the_original_stays() -> None:
    manifest = host()
    once = filled(manifest)
    assert isinstance(once, SAMLLMHost)
    assert filled(once) == once
    assert manifest.spec.network is None
