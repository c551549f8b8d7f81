from __future__ import annotations

from ipaddress import ip_address

import httpx2
import pytest

from hookline.integrations import AddressRefusedError
from hookline.integrations._addresses import Resolver, refusal

NEVER = [
    "0.0.0.0",  # noqa: S104 - refused here, not bound
    "0.1.2.3",
    "100.100.100.200",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::127.0.0.1",
    "::169.254.169.254",
    "::8.8.8.8",
    "::ffff:0.0.0.0",
    "::ffff:169.254.169.254",
    "::ffff:224.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::255.255.255.255",
    "64:ff9b:1::8.8.8.8",
    "64:ff9b:1:7f00:0:100::",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "2001:db8::1",
    "2002:a9fe:a9fe::",
    "2002:e000:1::",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
]
PRIVATE = [
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "::1",
    "::ffff:10.1.2.3",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:192.168.1.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a00:1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:c0a8:101::",
    "fc00::1",
    "fd12:3456:789a::1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "128.0.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "192.169.0.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
]


class Answers:
    """A lookup that gives scripted answers, the last one for ever, and counts."""

    def __init__(self, *answers: list[str] | OSError) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, _host: str, _port: int) -> list[str]:
        """Give the next answer, whatever the name."""
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if isinstance(answer, OSError):
            raise answer
        return answer


@pytest.mark.parametrize("text", NEVER)
@pytest.mark.parametrize("allow_private", [False, True])
def test_metadata_and_special_addresses_are_never_called(text: str, allow_private: bool) -> None:  # noqa: FBT001 - parametrized
    """Metadata, link-local, multicast, reserved and documentation addresses stay shut, whatever form they come in."""
    assert refusal(ip_address(text), allow_private=allow_private) is not None


@pytest.mark.parametrize("text", PRIVATE)
def test_private_addresses_need_permission(text: str) -> None:
    """Loopback and private networks are refused by default, and open with allow_private, also inside IPv6 forms."""
    assert refusal(ip_address(text), allow_private=False) is not None
    assert refusal(ip_address(text), allow_private=True) is None


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_called(text: str) -> None:
    """A public address is allowed, up to the edges of the networks that are not."""
    assert refusal(ip_address(text), allow_private=False) is None


async def test_only_allowed_answers_are_returned() -> None:
    """Of mixed answers only the allowed ones are connected to, in the resolver's order."""
    resolver = Resolver(Answers(["127.0.0.1", "2606:4700:4700::1111", "8.8.8.8"]), allow_private=False)
    assert [str(address) for address in await resolver.resolve("mixed.test", 443)] == [
        "2606:4700:4700::1111",
        "8.8.8.8",
    ]


async def test_a_name_of_forbidden_addresses_is_refused_by_name() -> None:
    """A refusal carries the host and every address with its reason."""
    resolver = Resolver(Answers(["10.0.0.1", "fe80::1%eth0"]), allow_private=False)
    with pytest.raises(AddressRefusedError) as caught:
        await resolver.resolve("inside.test", 443)
    assert caught.value.host == "inside.test"
    assert caught.value.reasons == {"10.0.0.1": "private", "fe80::1": "link-local"}


async def test_a_name_that_changes_its_mind_is_checked_again() -> None:
    """A lookup after the kept answer is checked like the first one: rebinding to loopback is refused."""
    answers = Answers(["8.8.8.8"], ["127.0.0.1"])
    resolver = Resolver(answers, allow_private=False, keep_seconds=0.0)
    await resolver.resolve("rebind.test", 443)
    with pytest.raises(AddressRefusedError):
        await resolver.resolve("rebind.test", 443)


async def test_a_good_answer_is_kept_until_it_is_forgotten() -> None:
    """One lookup serves many requests; after forget() the name is asked again."""
    answers = Answers(["8.8.8.8"], ["1.1.1.1"])
    resolver = Resolver(answers, allow_private=False, keep_seconds=3600.0)
    for _ in range(3):
        await resolver.resolve("kept.test", 443)
    assert answers.asked == 1
    resolver.forget()
    assert [str(address) for address in await resolver.resolve("kept.test", 443)] == ["1.1.1.1"]


async def test_an_unknown_name_is_a_connection_error() -> None:
    """A name that does not resolve is httpx2's ConnectError with the resolver's error as its cause."""
    failure = OSError("no such name")
    with pytest.raises(httpx2.ConnectError) as caught:
        await Resolver(Answers(failure), allow_private=False).resolve("nowhere.test", 443)
    assert caught.value.__cause__ is failure
