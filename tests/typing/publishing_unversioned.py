# an event without a version
from hookline import Event

event = Event.unversioned(
    source="stovepipe",
    type="build.finished",
    subject="build-42",
    cause="message-17",
    ordinal=0,
    payload={"build_id": "build-42", "result": "green"},
)
