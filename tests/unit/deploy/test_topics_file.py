"""What `topics apply` makes: read from a file, or by default."""

import tomllib
from pathlib import Path

import pytest

from hookline.service import Settings, SettingsError, wanted_topics
from hookline.service._topics_file import (
    DEAD_LETTER_ALLOWANCE_BYTES,
    TopicRole,
    TopicsFile,
    TopicSpec,
    load_topics_file,
)

SHIPPED = Path(__file__).parents[3] / "deploy" / "topics.toml"

HOOK = '[[topics]]\nrole = "hook"\npartitions = 1\n'
DEAD_LETTERS = '[[topics]]\nrole = "dead_letters"\npartitions = 1\n'
FITTING = '[topics.config]\n"max.message.bytes" = 1114124\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "topics.toml"
    path.write_text(text)
    return path


def topic(file: TopicsFile, role: TopicRole) -> TopicSpec:
    found = file.of(role)
    assert found is not None
    return found


@pytest.mark.parametrize("path", [SHIPPED, None], ids=["shipped", "default"])
def test_all_topics_are_made(path: Path | None) -> None:
    """The file that ships, and the default without a file, hold the topics of events, dead letters and gates."""
    assert [item.role for item in load_topics_file(path).topics] == list(TopicRole)


@pytest.mark.parametrize("path", [SHIPPED, None], ids=["shipped", "default"])
def test_a_gate_stays_closed(path: Path | None) -> None:
    """The topic of gates is compacted and nothing else: retention would open what is closed."""
    assert topic(load_topics_file(path), TopicRole.CONTROL).config["cleanup.policy"] == "compact"


def test_a_topic_that_is_switched_off_is_not_made() -> None:
    """Without a control topic in the settings none is asked for, whatever the file says."""
    settings = Settings.model_validate({"domain": "orders", "topics": {"control": ""}})
    assert [wanted.name for wanted in wanted_topics(settings, SHIPPED)] == ["orders-hook", "orders-hook_dlq"]


@pytest.mark.parametrize("path", [SHIPPED, None], ids=["shipped", "default"])
def test_dead_letters_are_kept_longer(path: Path | None) -> None:
    """A dead letter outlives the event it was made from, so there is time to repair and republish (P14)."""
    file = load_topics_file(path)
    week = 604_800_000
    hook, letters = topic(file, TopicRole.HOOK), topic(file, TopicRole.DEAD_LETTERS)
    assert letters.number("retention.ms", week) > hook.number("retention.ms", week)
    assert {hook.config["cleanup.policy"], letters.config["cleanup.policy"]} == {"delete"}


@pytest.mark.parametrize("path", [SHIPPED, None], ids=["shipped", "default"])
def test_a_dead_letter_always_fits(path: Path | None) -> None:
    """The dead-letter topic takes the largest event and 64 KiB about its failure."""
    file = load_topics_file(path)
    kafka_default = 1_048_588
    hook = topic(file, TopicRole.HOOK).number("max.message.bytes", kafka_default)
    assert (
        topic(file, TopicRole.DEAD_LETTERS).number("max.message.bytes", kafka_default)
        == hook + DEAD_LETTER_ALLOWANCE_BYTES
    )


def test_an_acknowledged_event_survives_one_broker() -> None:
    """The topics that ship are replicated so that an acknowledged record is on two brokers (P1, P2)."""
    for item in load_topics_file(SHIPPED).topics:
        assert item.replication_factor == 3
        assert item.number("min.insync.replicas", 1) == 2


def test_the_default_fits_any_cluster() -> None:
    """Without a file the broker decides the replicas, so a cluster of one broker will do."""
    assert all(item.replication_factor is None for item in TopicsFile.default().topics)
    assert all("min.insync.replicas" not in item.config for item in TopicsFile.default().topics)


def test_a_role_is_named_by_the_settings() -> None:
    """The file says roles; the domain and `[topics]` say names."""
    settings = Settings.model_validate({"domain": "orders", "topics": {"dead_letters": "orders.poison"}})
    names = [item.name_in(settings) for item in TopicsFile.default().topics]
    assert names == ["orders-hook", "orders.poison", "hookline-control"]


def test_a_topic_may_be_named(tmp_path: Path) -> None:
    """A topic beside the roles is given by its name, and keeps it in every domain."""
    file = load_topics_file(written(tmp_path, '[[topics]]\nname = "audit"\npartitions = 1\n'))
    assert file.topics[0].name_in(Settings(domain="orders")) == "audit"


def test_values_reach_kafka_as_text(tmp_path: Path) -> None:
    """Numbers and booleans of TOML become the texts that Kafka takes."""
    text = HOOK + '[topics.config]\n"retention.ms" = 60_000\n"unclean.leader.election.enable" = false\n'
    config = load_topics_file(written(tmp_path, text)).topics[0].config
    assert config == {"retention.ms": "60000", "unclean.leader.election.enable": "false"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty file"),
        pytest.param("topics = []", id="no topics"),
        pytest.param("not toml", id="not TOML"),
        pytest.param('[[topics]]\nrole = "hooks"\npartitions = 1\n', id="unknown role"),
        pytest.param("[[topics]]\npartitions = 1\n", id="neither role nor name"),
        pytest.param('[[topics]]\nrole = "hook"\nname = "a"\npartitions = 1\n', id="role and name"),
        pytest.param('[[topics]]\nname = "a b"\npartitions = 1\n', id="name that Kafka refuses"),
        pytest.param('[[topics]]\nrole = "hook"\n', id="no partitions"),
        pytest.param('[[topics]]\nrole = "hook"\npartitions = 0\n', id="zero partitions"),
        pytest.param('[[topics]]\nrole = "hook"\npartitions = true\n', id="partitions that are no number"),
        pytest.param(HOOK + "replicas = 3\n", id="unknown key"),
        pytest.param(HOOK + HOOK, id="a role twice"),
        pytest.param(HOOK + '[topics.config]\n"retention.ms" = "7d"\n', id="retention that is no number"),
        pytest.param(HOOK + '[topics.config]\n"cleanup.policy" = "compact"\n', id="compacted events"),
        pytest.param(
            DEAD_LETTERS + '[topics.config]\n"cleanup.policy" = "compact,delete"\n', id="compacted dead letters"
        ),
        pytest.param('[[topics]]\nrole = "control"\npartitions = 1\n', id="gates that expire"),
        pytest.param(
            '[[topics]]\nrole = "control"\npartitions = 1\nconfig = {"cleanup.policy" = "compact,delete"}\n',
            id="gates that expire all the same",
        ),
        pytest.param(
            HOOK + 'replication_factor = 1\n[topics.config]\n"min.insync.replicas" = 2\n', id="never writable"
        ),
        pytest.param(HOOK + DEAD_LETTERS, id="dead letters of the same size"),
        pytest.param(
            HOOK + '[topics.config]\n"max.message.bytes" = 2000000\n' + DEAD_LETTERS + FITTING, id="too small"
        ),
        pytest.param(HOOK + DEAD_LETTERS + FITTING + '"retention.ms" = 1000\n', id="kept for less than events"),
        pytest.param(
            HOOK + '[topics.config]\n"retention.ms" = -1\n' + DEAD_LETTERS + FITTING, id="events kept for ever"
        ),
    ],
)
def test_what_could_lose_a_dead_letter_is_refused(tmp_path: Path, text: str) -> None:
    """A file with an unknown key, or topics in which a dead letter could be lost, is refused with the file's name."""
    path = written(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_topics_file(path)
    assert {problem.where for problem in caught.value.problems} == {str(path)}


def test_every_problem_is_said_at_once(tmp_path: Path) -> None:
    """Two mistakes in a file are two problems."""
    text = '[[topics]]\nrole = "hook"\n[[topics]]\nrole = "dead_letters"\npartitions = -1\n'
    with pytest.raises(SettingsError) as caught:
        load_topics_file(written(tmp_path, text))
    assert len(caught.value.problems) == 2


def test_a_missing_file_is_said_by_name(tmp_path: Path) -> None:
    """A file that is not there is a problem with its path, not a traceback."""
    with pytest.raises(SettingsError) as caught:
        load_topics_file(tmp_path / "absent.toml")
    assert caught.value.problems[0].where == str(tmp_path / "absent.toml")


def test_dead_letters_kept_for_ever_outlive_everything(tmp_path: Path) -> None:
    """Kafka's -1 means for ever, which is never less than a week."""
    file = load_topics_file(written(tmp_path, HOOK + DEAD_LETTERS + FITTING + '"retention.ms" = -1\n'))
    assert topic(file, TopicRole.DEAD_LETTERS).number("retention.ms", 0) == -1


def test_the_shipped_file_says_all_there_is() -> None:
    """The file that ships sets every key of the schema but `name`, so it can be copied and edited."""
    keys = {key for item in tomllib.loads(SHIPPED.read_text())["topics"] for key in item}
    assert keys == TopicSpec.model_fields.keys() - {"name"}
