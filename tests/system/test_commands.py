"""What an operator types: namespaces, keys and the demo world."""

import hashlib
import io
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories.models import ApiKey, Membership, Memory, Namespace
from memories.models.choices import Mode, Role

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    """Run a command and give what it says on standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_demo_is_not_loaded_into_a_namespace_that_exists() -> None:
    namespace = Namespace.objects.create(slug="demo", title="Mine")
    with pytest.raises(CommandError, match=r"The namespace demo exists already, .*--namespace.*--if-missing"):
        run("load_demo")
    assert run("load_demo", "--if-missing") == ("", "")
    assert not Memory.objects.within(namespace).exists()


@pytest.mark.parametrize("command", [["load_demo", "--namespace"], ["create_namespace"], ["create_key", "--role=read"]])
def test_a_name_that_no_address_could_hold_is_refused(command: list[str]) -> None:
    with pytest.raises(CommandError, match="Got 'not a slug'"):
        run(*command, "not a slug")
    with pytest.raises(CommandError, match="at most 50 characters"):
        run(*command, "a" * 51)


def test_a_namespace_is_made_with_its_first_admin() -> None:
    user = User.objects.create_user("maya")
    out, _ = run("create_namespace", "ships", "--title", "Our ships", "--mode", "belief_system", "--member", "maya")
    assert out == "Created the namespace ships, with maya as admin.\n"
    namespace = Namespace.objects.get(slug="ships")
    assert (namespace.title, namespace.mode, namespace.clock) == ("Our ships", Mode.BELIEF_SYSTEM, None)
    assert Membership.objects.get(user=user, namespace=namespace).role == Role.ADMIN


def test_a_namespace_without_a_title_goes_by_its_slug() -> None:
    run("create_namespace", "ships")
    assert Namespace.objects.get().title == "ships"


def test_a_namespace_blacks_out_secrets_where_it_is_made_so() -> None:
    run("create_namespace", "ships", "--redact")
    run("create_namespace", "boats")
    assert dict(Namespace.objects.values_list("slug", "redacts")) == {"ships": True, "boats": False}


def test_a_namespace_is_made_once() -> None:
    run("create_namespace", "ships")
    with pytest.raises(CommandError, match="ships exists already: choose another slug"):
        run("create_namespace", "ships")


def test_a_namespace_for_nobody_known_is_not_made() -> None:
    with pytest.raises(CommandError, match="There is no user nobody"):
        run("create_namespace", "ships", "--member", "nobody")
    assert not Namespace.objects.exists()


def test_a_mode_nobody_knows_is_refused() -> None:
    with pytest.raises(CommandError, match="invalid choice: 'dreamy'"):
        run("create_namespace", "ships", "--mode", "dreamy")


def test_the_key_alone_goes_to_standard_output_and_only_its_hash_is_kept() -> None:
    run("create_namespace", "ships")
    out, err = run("create_key", "ships", "--role", "write", "--name", "the bridge")
    plain = out.removesuffix("\n")
    stored = ApiKey.objects.within(Namespace.objects.get()).get()
    assert plain.startswith("rk_")
    assert len(plain) >= len("rk_") + 32
    assert plain not in err
    assert "role write, until it is revoked" in err
    assert bytes(stored.hash) == hashlib.sha256(plain.encode()).digest()
    assert plain.startswith(stored.prefix)
    assert len(stored.prefix) < 12
    assert (stored.name, stored.role, stored.expires_at) == ("the bridge", Role.WRITE, None)


def test_no_two_keys_are_alike() -> None:
    run("create_namespace", "ships")
    assert len({run("create_key", "ships", "--role=read")[0] for _ in range(20)}) == 20


def test_a_key_can_end_by_itself() -> None:
    run("create_namespace", "ships")
    run("create_key", "ships", "--role=read", "--expires-days=30")
    ends = ApiKey.objects.within(Namespace.objects.get()).get().expires_at
    assert ends is not None
    assert abs(ends - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["boats", "--role=read"], r"There is no namespace boats: choose an existing one \(ships\)"),
        (["ships"], "required: --role"),
        (["ships", "--role=captain"], "invalid choice: 'captain'"),
        (["ships", "--role=read", "--expires-days=0"], "whole number from 1; got '0'"),
        (["ships", "--role=read", "--expires-days=soon"], "whole number from 1; got 'soon'"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(arguments: list[str], complaint: str) -> None:
    run("create_namespace", "ships")
    with pytest.raises(CommandError, match=complaint):
        run("create_key", *arguments)
    assert not ApiKey.objects.exists()
