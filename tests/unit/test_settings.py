from pathlib import Path

import pytest

from seconder.errors import ConfigurationError
from seconder.settings import VARIABLES, read, unknown, with_policy

MINE = "sqlite:////srv/mine.db"


def demo_beside(folder: Path, *lines: str) -> Path:
    (folder / "seconder-demo").mkdir()
    (folder / "seconder-demo" / "demo.env").write_text("\n".join(lines))
    return folder


def test_nothing_set_gives_the_defaults() -> None:
    settings = read({})

    assert (settings.host, settings.port, settings.log) == ("127.0.0.1", 8710, "console")
    assert settings.database_url == "sqlite:///seconder.db"
    assert settings.slack_api_url == "https://slack.com/api/"
    assert (settings.policy, settings.keys, settings.token, settings.base_url, settings.demo) == (None,) * 5


def test_an_empty_variable_counts_as_unset() -> None:
    assert read({"SECONDER_PORT": " ", "SLACK_APP_TOKEN": "", "SECONDER_POLICY": ""}) == read({})


def test_every_fault_is_named_at_once() -> None:
    wrong = {
        "SECONDER_PORT": "eighty",
        "SECONDER_LOG": "xml",
        "SECONDER_DATABASE_URL": "mysql://host/name",
        "SECONDER_BASE_URL": "seconder.example.com",
        "SECONDER_SLACK_API_URL": "ftp://slack",
        "SLACK_BOT_TOKEN": "xapp-1",
        "SLACK_APP_TOKEN": "xoxb-1",
        "SECONDER_TOKEN": "whsec_1",
    }

    with pytest.raises(ConfigurationError) as caught:
        read(wrong)

    lines = str(caught.value).splitlines()
    assert len(lines) == len(wrong)
    assert all(any(line.startswith(name) for line in lines) for name in wrong)


def test_a_fault_does_not_repeat_a_secret() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read({"SLACK_BOT_TOKEN": "hunter2", "SECONDER_TOKEN": "hunter2", "SECONDER_DATABASE_URL": "x://u:hunter2@h/d"})

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("port", ["-1", "65536", "80a", "٣"])
def test_a_port_is_a_number_from_0_to_65535(port: str) -> None:
    with pytest.raises(ConfigurationError, match="SECONDER_PORT"):
        read({"SECONDER_PORT": port})


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_name_of_postgresql_means_the_same_driver(scheme: str) -> None:
    settings = read({"SECONDER_DATABASE_URL": f"{scheme}://me:secret@db/seconder"})

    assert settings.database_url == "postgresql+psycopg://me:secret@db/seconder"


def test_the_database_is_shown_without_its_password() -> None:
    assert read({"SECONDER_DATABASE_URL": "postgresql://me:s@cret@db/x"}).database == "postgresql+psycopg://me@db/x"
    assert read({"SECONDER_DATABASE_URL": MINE}).database == MINE


def test_the_web_api_url_ends_with_one_slash() -> None:
    for url in ("http://127.0.0.1:8711/api", "http://127.0.0.1:8711/api/"):
        assert read({"SECONDER_SLACK_API_URL": url}).slack_api_url == "http://127.0.0.1:8711/api/"


def test_secrets_are_not_in_the_repr() -> None:
    secrets = {
        "SLACK_BOT_TOKEN": "xoxb-hidden",
        "SLACK_APP_TOKEN": "xapp-hidden",
        "SLACK_SIGNING_SECRET": "hidden",
        "SECONDER_KEYS": "hidden",
        "SECONDER_TOKEN": "sdr_hidden",
        "SECONDER_DATABASE_URL": "postgresql://me:hidden@db/seconder",
    }

    assert "hidden" not in repr(read(secrets))


def test_a_demo_beside_fills_in_what_the_environment_does_not_say(tmp_path: Path) -> None:
    folder = demo_beside(
        tmp_path,
        "# the demo's",
        "",
        "SECONDER_DATABASE_URL=sqlite:///demo.db",
        "SECONDER_PORT = 9000",
        "SECONDER_KEYS=a=",
    )

    settings = read({"SECONDER_PORT": "9001"}, folder)

    assert settings.demo == folder / "seconder-demo"
    assert (settings.database_url, settings.port, settings.keys) == ("sqlite:///demo.db", 9001, "a=")


def test_a_demo_beside_does_not_count_where_a_database_is_named(tmp_path: Path) -> None:
    folder = demo_beside(tmp_path, "SECONDER_DATABASE_URL=sqlite:///demo.db", "SECONDER_PORT=9000")

    assert read({"SECONDER_DATABASE_URL": MINE}, folder) == read({"SECONDER_DATABASE_URL": MINE})


def test_a_demo_beside_does_not_count_where_no_folder_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_beside(tmp_path, "SECONDER_PORT=9000"))

    assert read({}).port == 8710


def test_a_broken_line_of_the_demo_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"demo\.env:2: write NAME=VALUE"):
        read({}, demo_beside(tmp_path, "A=1", "nonsense"))


def test_another_policy_replaces_only_the_policy() -> None:
    settings = read({"SECONDER_POLICY": "a.yaml", "SECONDER_PORT": "9000"})

    assert with_policy(settings, None) == settings
    assert with_policy(settings, Path("b.yaml")) == read({"SECONDER_POLICY": "b.yaml", "SECONDER_PORT": "9000"})


def test_a_variable_that_looks_like_ours_and_is_not_is_found() -> None:
    assert unknown(["PATH", "SECONDER_POLCY", "SLACK_TOKEN", *VARIABLES]) == ["SECONDER_POLCY", "SLACK_TOKEN"]
