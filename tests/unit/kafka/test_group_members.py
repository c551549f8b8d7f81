"""Whether a group has members, as brokers list them, one of which may not have answered."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException
from confluent_kafka.admin import ConsumerGroupListing, ListConsumerGroupsResult  # type: ignore[attr-defined] # exported

from hookline.kafka import BrokerUnreachableError, ClientConfig, GroupAdmin

if TYPE_CHECKING:
    from collections.abc import Iterator

AWAY = KafkaError(KafkaError._TRANSPORT)
MOVING = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
LIVE = ConsumerGroupListing("live", is_simple_consumer_group=False, state=ConsumerGroupState.STABLE)
EMPTY = ConsumerGroupListing("empty", is_simple_consumer_group=False, state=ConsumerGroupState.EMPTY)


class Lists:
    """Answers with one list after another, and then with the last."""

    def __init__(self, *lists: ListConsumerGroupsResult) -> None:
        self._lists = list(lists)

    def list_consumer_groups(self, **_: Any) -> Future[ListConsumerGroupsResult]:
        """List."""
        answer: Future[ListConsumerGroupsResult] = Future()
        answer.set_result(self._lists.pop(0) if len(self._lists) > 1 else self._lists[0])
        return answer

    def poll(self, timeout_seconds: float) -> int:
        """Have nothing to tell."""
        del timeout_seconds
        return 0


@pytest.fixture
def admin() -> Iterator[GroupAdmin]:
    with GroupAdmin(ClientConfig(common={"bootstrap.servers": "127.0.0.1:1"}), 5.0) as made:
        client = made._client
        yield made
        made._client = client


def told(admin: GroupAdmin, *lists: ListConsumerGroupsResult, group: str) -> bool:
    admin._client = Lists(*lists)  # type: ignore[assignment] # in the place of the brokers
    return admin.has_members(group)


@pytest.mark.parametrize("error", [AWAY, KafkaException(AWAY)])
def test_a_list_with_a_broker_missing_does_not_say_that_nobody_is_there(admin: GroupAdmin, error: Any) -> None:
    """P6: what members settle after their group was moved would be forgotten, so it is looked at again later."""
    errors: list[Any] = [error]
    partly = ListConsumerGroupsResult([LIVE, EMPTY], errors)
    assert told(admin, partly, group="live")
    for unseen in ("empty", "elsewhere"):
        with pytest.raises(BrokerUnreachableError):
            told(admin, partly, group=unseen)


def test_a_broker_that_is_about_to_answer_is_asked_again(admin: GroupAdmin) -> None:
    """A coordinator that moves is no answer, and no end either."""
    errors: list[Any] = [MOVING]
    loading = ListConsumerGroupsResult([], errors)
    assert told(admin, loading, ListConsumerGroupsResult([LIVE], []), group="live")
    assert not told(admin, loading, ListConsumerGroupsResult([EMPTY], []), group="empty")
