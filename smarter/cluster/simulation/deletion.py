"""Deleting: who goes at once, who waits, and who follows its owner. The API and the controllers call it."""

from datetime import timedelta

from smarter.cluster.simulation import process_nodes
from smarter.cluster.simulation.world import World, is_leaving, stamp
from smarter.core.objects import KubernetesObject


def delete_object(world: World, body: KubernetesObject) -> None:
    """As with background propagation: the object first, then what it owns."""
    if is_leaving(body):
        return
    kind = body["kind"]
    if kind == "Pod" and body["spec"].get("nodeName"):
        _mark(world, body)
        # The kubelet tells when it stops a pod; for who looks later this is the only trace of the end.
        world.warn(body, "Killing", f"Stopping container {body['spec']['containers'][0]['name']}", kind="Normal")
        if not process_nodes.is_alive(world, body):
            world.wake(body, "gone", world.pace.terminate)
        return
    if kind == "Namespace":
        body["status"] = {"phase": "Terminating"}
        _mark(world, body)
        return
    if body["metadata"].get("finalizers") or (kind == "PersistentVolumeClaim" and claim_in_use(world, body)):
        _mark(world, body)
        return
    erase_object(world, body)


def release(world: World, body: KubernetesObject) -> None:
    """The last finalizer of an object that waited for it has been taken away."""
    waits = body["kind"] in ("Pod", "Namespace") or body["metadata"].get("finalizers")
    if is_leaving(body) and not waits and not (body["kind"] == "PersistentVolumeClaim" and claim_in_use(world, body)):
        erase_object(world, body)


def erase_object(world: World, body: KubernetesObject) -> None:
    """The end of an object: its volume goes with a claim, and what it owned follows."""
    world.erase(body)
    if body["kind"] == "PersistentVolumeClaim":
        volume = world.get("PersistentVolume", "", body["spec"].get("volumeName", ""))
        if volume is not None:
            world.erase(volume)
    delete_dependents(world, body["metadata"]["uid"])


def delete_dependents(world: World, uid: str) -> None:
    for child in world.owned_by(uid):
        delete_object(world, child)


def claim_in_use(world: World, claim: KubernetesObject) -> bool:
    name = claim["metadata"]["name"]
    for pod in world.in_namespace(claim["metadata"]["namespace"], "Pod"):
        if pod["status"].get("phase") in ("Succeeded", "Failed"):
            continue
        for volume in pod["spec"].get("volumes") or ():
            if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
                return True
    return False


def finish_namespace(world: World, namespace: KubernetesObject) -> None:
    """Empties a namespace that is being deleted; the namespace goes when the last object did."""
    if not is_leaving(namespace):
        return
    name = namespace["metadata"]["name"]
    for body in world.in_namespace(name):
        if body["kind"] == "PersistentVolumeClaim":
            continue
        if body["kind"] == "Event":
            world.erase(body)
            continue
        current = world.get(body["kind"], name, body["metadata"]["name"])
        if current is not None:
            delete_object(world, current)
    for claim in world.in_namespace(name, "PersistentVolumeClaim"):
        delete_object(world, claim)
    if not world.in_namespace(name):
        world.erase(namespace)


def _mark(world: World, body: KubernetesObject) -> None:
    """The timestamp is the end of the grace period, as in Kubernetes, and not the moment of the request."""
    grace_seconds = 0
    if body["kind"] == "Pod":
        grace_seconds = body["spec"].get("terminationGracePeriodSeconds", 30)
        body["metadata"]["deletionGracePeriodSeconds"] = grace_seconds
    body["metadata"]["deletionTimestamp"] = stamp(world.now + timedelta(seconds=grace_seconds))
    world.put(body)
