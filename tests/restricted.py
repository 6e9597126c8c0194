"""The restricted profile of the Pod Security Standards, as a list of what breaks it. Kept apart from the renderer, so
that the renderer cannot agree with itself."""

from typing import Any

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def faults(pod: dict[str, Any]) -> list[str]:
    found = [f"pod.{name}" for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    security = pod.get("securityContext", {})
    for volume in pod.get("volumes", ()):
        found += [f"volume {name}" for name in volume if name != "name" and name not in VOLUMES]
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        found += [f"{container['name']}.{fault}" for fault in _container_faults(container, security)]
    if security.get("runAsUser") == 0:
        found.append("pod.runAsUser")
    if security.get("sysctls"):
        found.append("pod.sysctls")
    return found


def _container_faults(container: dict[str, Any], pod_security: dict[str, Any]) -> list[str]:
    own = container.get("securityContext", {})
    found = []
    if own.get("privileged"):
        found.append("privileged")
    if own.get("allowPrivilegeEscalation") is not False:
        found.append("allowPrivilegeEscalation")
    capabilities = own.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", ()) or set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
        found.append("capabilities")
    if not own.get("runAsNonRoot", pod_security.get("runAsNonRoot")):
        found.append("runAsNonRoot")
    if own.get("runAsUser", pod_security.get("runAsUser")) == 0:
        found.append("runAsUser")
    profile = own.get("seccompProfile", pod_security.get("seccompProfile", {})).get("type")
    if profile not in ("RuntimeDefault", "Localhost"):
        found.append("seccompProfile")
    if any("hostPort" in port for port in container.get("ports", ())):
        found.append("hostPort")
    return found
