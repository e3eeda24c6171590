"""Messages reach a folder, a webhook and a mail server that really run; what does not get through is said."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.operations.channels import NotDelivered, Notification, channel_of
from tests.operations.places import mail_server, web_hook
from tests.servers import free_port

MESSAGE = Notification("limit:7", "limit", "A limit awaits approval.", "A limit awaits approval.", {"path": "/x"})
HEAD = Notification("head:3", "head", "Head", "Keep it.", {"head": {"size": 3, "root": "ab"}})


def test_a_webhook_gets_signed_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_WEBHOOK_SECRET", "known to both")
    with web_hook() as hook:
        channel_of(hook.url).send(MESSAGE)
    ((headers, body),) = hook.came
    expected = hmac.new(b"known to both", body, hashlib.sha256).hexdigest()
    assert headers["X-Discreet-Signature"] == f"sha256={expected}"
    assert headers["Idempotency-Key"] == "limit:7"
    assert json.loads(body) == {
        "key": "limit:7",
        "kind": "limit",
        "path": "/x",
        "subject": MESSAGE.subject,
        "text": MESSAGE.text,
    }
    assert "known to both" not in repr(channel_of(hook.url))


@pytest.mark.parametrize("status", [302, 404, 500])
def test_any_answer_but_success_is_a_failure_and_redirects_are_not_followed(status: int) -> None:
    with web_hook(status) as hook, pytest.raises(NotDelivered, match=str(status)):
        channel_of(hook.url).send(MESSAGE)
    assert len(hook.came) == 1


def test_a_machine_that_is_not_there() -> None:
    with pytest.raises(NotDelivered, match="cannot be reached"):
        channel_of(f"http://127.0.0.1:{free_port()}/").send(MESSAGE)
    with pytest.raises(NotDelivered, match="did not take it"):
        channel_of("mailto:a@example.org", smtp=f"smtp://127.0.0.1:{free_port()}").send(MESSAGE)


def test_mail_with_the_head_as_a_file() -> None:
    with mail_server() as mails:
        channel_of("mailto:dpo@example.org", smtp=mails.url, sender="discreet@example.org").send(HEAD)
    (mail,) = mails.came
    assert mails.to == [["dpo@example.org"]]
    assert (mail["Subject"], mail["From"], mail["To"]) == ("Head", "discreet@example.org", "dpo@example.org")
    (attached,) = mail.iter_attachments()
    assert attached.get_filename() == "head.json"
    assert json.loads(attached.get_content()) == HEAD.facts["head"]


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS:UserWarning")
def test_mail_with_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with mail_server("sesame") as mails:
        with pytest.raises(NotDelivered):
            channel_of("mailto:dpo@example.org", smtp=mails.url).send(MESSAGE)
        monkeypatch.setenv("DISCREET_SMTP_PASSWORD", "sesame")
        channel = channel_of("mailto:dpo@example.org", smtp=mails.url)
        channel.send(MESSAGE)
    assert len(mails.came) == 1
    assert "sesame" not in repr(channel)


def test_a_folder_gets_whole_files_and_none_is_replaced(tmp_path: Path) -> None:
    channel = channel_of(str(tmp_path))
    for message in (HEAD, HEAD, MESSAGE):
        channel.send(message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["head-3.json", "limit-7.json"]
    assert json.loads((tmp_path / "head-3.json").read_text()) == HEAD.facts["head"]
    tmp_path.joinpath("gone").mkdir()
    lost = channel_of(str(tmp_path / "gone"))
    tmp_path.joinpath("gone").rmdir()
    with pytest.raises(NotDelivered):
        lost.send(HEAD)


@pytest.mark.parametrize(
    ("place", "smtp"),
    [
        ("http://hooks.example/x", None),
        ("https://user:secret@hooks.example/x", None),
        ("https:///x", None),
        ("ftp://a.example", None),
        ("/there/is/no/such/folder", None),
        ("mailto:office", "smtp://mx.example"),
        ("mailto:a@b.example\nBcc: c@d.example", "smtp://mx.example"),
        ("mailto:a@b.example", None),
        ("mailto:a@b.example", "http://mx.example"),
    ],
)
def test_places_that_are_none(place: str, smtp: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        channel_of(place, smtp=smtp)
    assert caught.value.remedy
    assert "secret" not in str(caught.value)
