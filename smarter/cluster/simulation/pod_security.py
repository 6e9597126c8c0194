"""The Pod Security Standards `baseline` and `restricted`, as far as they concern what a pod of Smarter may have. For
admission."""

from collections.abc import Iterator, Mapping
from typing import Any

_ALLOWED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
_SECCOMP = ("RuntimeDefault", "Localhost")


def restricted_faults(spec: Mapping[str, Any]) -> list[str]:
    return [*_host_faults(spec), *_volume_faults(spec), *_container_faults(spec)]


def baseline_faults(spec: Mapping[str, Any]) -> list[str]:
    privileged = [
        f'privileged (container "{name}" must not set securityContext.privileged=true)'
        for name, container in _containers(spec)
        if (container.get("securityContext") or {}).get("privileged")
    ]
    paths = [f'hostPath volumes (volume "{one["name"]}")' for one in spec.get("volumes") or () if "hostPath" in one]
    return [*_host_faults(spec), *privileged, *paths]


def _host_faults(spec: Mapping[str, Any]) -> Iterator[str]:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    if shared:
        yield f"host namespaces ({', '.join(shared)})"
    if any(port.get("hostPort") for _, container in _containers(spec) for port in container.get("ports") or ()):
        yield "hostPort"


def _volume_faults(spec: Mapping[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        wrong = set(volume) - {"name"} - _ALLOWED_VOLUMES
        if wrong:
            yield f'restricted volume types (volume "{volume["name"]}" uses restricted volume type "{min(wrong)}")'


def _container_faults(spec: Mapping[str, Any]) -> Iterator[str]:
    pod = spec.get("securityContext") or {}
    for name, container in _containers(spec):
        own = container.get("securityContext") or {}
        if own.get("privileged"):
            yield f'privileged (container "{name}" must not set securityContext.privileged=true)'
        if own.get("allowPrivilegeEscalation") is not False:
            yield (
                f'allowPrivilegeEscalation != false (container "{name}" must set '
                "securityContext.allowPrivilegeEscalation=false)"
            )
        capabilities = own.get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or ()) or set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"}:
            yield f'unrestricted capabilities (container "{name}" must set securityContext.capabilities.drop=["ALL"])'
        if own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
            yield f'runAsNonRoot != true (pod or container "{name}" must set securityContext.runAsNonRoot=true)'
        if own.get("runAsUser", pod.get("runAsUser")) == 0:
            yield f'runAsUser=0 (pod or container "{name}" must not set runAsUser=0)'
        profile = (own.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type")
        if profile not in _SECCOMP:
            yield (
                f'seccompProfile (pod or container "{name}" must set securityContext.seccompProfile.type to '
                '"RuntimeDefault" or "Localhost")'
            )


def _containers(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for group in ("initContainers", "containers"):
        for container in spec.get(group) or ():
            yield container["name"], container
