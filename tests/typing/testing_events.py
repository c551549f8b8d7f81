# the text of docs/testing.md, word for word
from hookline.testing import EventFactory, EventType, assert_catalogue

deploy_finished = EventFactory(
    "deployer",
    "deploy.finished",
    subject="deploy_id",
    sample={"deploy_id": "eu-1/4711", "outcome": "rolled back", "bytes_sent": "9007199254740993"},
    version=3,
)

CATALOGUE = [
    deploy_finished.event_type,
    EventType(
        source="deployer",
        type="deploy.started",
        subject="deploy_id",
        versioned=True,
        payload={"deploy_id": "string", "revision": "string"},
        optional={"approved_by": "string"},
    ),
]


def test_our_events_keep_the_rules() -> None:
    assert_catalogue(CATALOGUE, [deploy_finished()])
