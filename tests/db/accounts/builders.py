"""Accounts, people and manifests for the tests of the lower apps."""

from dataclasses import dataclass

from smarter.apps.accounts import services
from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.models import Account, User
from smarter.core.kind import Kind, Role
from smarter.core.manifest import ParsedManifest, read_manifests
from smarter.models.sam.account import SAMAccount
from smarter.models.sam.cluster import SAMCluster
from smarter.models.sam.secret import SAMSecret
from smarter.models.sam.smarter_auth_token import SAMSmarterAuthToken
from smarter.models.sam.user import SAMUser


def _kind(name: str, plural: str, model: type, writer: Role) -> Kind:
    return Kind(
        api_version="smarter.sh/v1", name=name, plural=plural, model=model, summary="", example="", writer=writer
    )


ACCOUNT = _kind("Account", "accounts", SAMAccount, "platform")
USER = _kind("User", "users", SAMUser, "admin")
TOKEN = _kind("SmarterAuthToken", "smarterauthtokens", SAMSmarterAuthToken, "admin")
SECRET = _kind("Secret", "secrets", SAMSecret, "member")
CLUSTER = _kind("Cluster", "clusters", SAMCluster, "admin")
KINDS = {kind.key: kind for kind in (ACCOUNT, USER, TOKEN, SECRET, CLUSTER)}


def parse(text: str) -> ParsedManifest:
    manifests, problems = read_manifests(text.encode(), KINDS)
    assert problems == []
    return manifests[0]


def manifest(kind: Kind, metadata: str, spec: str) -> ParsedManifest:
    """Both parts in YAML's flow style."""
    return parse(f"apiVersion: {kind.api_version}\nkind: {kind.name}\nmetadata: {metadata}\nspec: {spec}\n")


@dataclass(frozen=True)
class Tenant:
    account: Account
    admin: User
    actor: Actor


def tenant(name: str) -> Tenant:
    """An account with one administrator, who is called like it."""
    account = services.create_account(name, name.title())
    admin = services.create_user(f"{name}_admin", f"{name}@example.com", home_account=account)
    services.add_member(account, admin, "admin")
    return Tenant(account, admin, actor_of(admin, account))


def actor_of(user: User, account: Account) -> Actor:
    actor = services.actor_for(user, account)
    assert actor is not None
    return actor


def member(account: Account, username: str, role: str) -> User:
    user = services.create_user(username, f"{username}@example.com", home_account=account)
    services.add_member(account, user, role)
    return user


def platform_actor() -> Actor:
    account, user = services.ensure_platform()
    return actor_of(user, account)
