"""What is too large or has no exact form is refused; over real HTTP the caller hears it."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.api import a_door, action_of, error_of, exact, pause_of
from tests.support.desk import a_desk

MIB = 1024 * 1024


def body_with(arguments: str) -> bytes:
    """A submission whose arguments are this text."""
    return json.dumps(action_of("look_up", {"x": "HERE"})).replace('"HERE"', arguments).encode("utf-8", "surrogatepass")


NOT_CANONICAL = [
    '"\\ud800"',
    '{"\\ud800": 1}',
    '"\ud800"',
    "NaN",
    "1e999",
    '{"a": 1, "a": 2}',
    '{"$int": "1"}',
    "[" * 100 + "]" * 100,
    "[" * 5000 + "]" * 5000,
    "1" * 5000,
    "nope",
    "",
]


def test_what_has_no_canonical_form_is_refused(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        answers = [door.post("/v1/reviews", content=body_with(arguments)) for arguments in NOT_CANONICAL]

        assert [error_of(answer) for answer in answers] == [(422, "not_canonical")] * len(NOT_CANONICAL)
        assert door.get("/v1/reviews").json()["reviews"] == []


def test_half_characters_and_nuls_are_refused_in_every_text(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        for where in ("reason", "session", "call_id", "environment"):
            for text, code in (("\\ud800", "not_canonical"), ("\\u0000", "invalid")):
                body = json.dumps({**action_of("look_up"), where: "HERE"}).replace("HERE", text)
                answer = door.post("/v1/reviews", content=body)

                assert error_of(answer) == (422, code)
                assert [field["path"] for field in answer.json()["error"]["fields"]] == [where]


def test_every_fault_is_named_by_its_path(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        wrong = {**action_of("look_up"), "risk": 2, "surprise": 1, "deadline": "9999-12-31T23:59:59-12:00"}
        answer = door.post("/v1/pauses", json=pause_of(wrong, action_of("look_up") | {"context": [{"url": "ftp://x"}]}))

        assert error_of(answer) == (422, "invalid")
        assert sorted(field["path"] for field in answer.json()["error"]["fields"]) == [
            "interrupts[0].deadline",
            "interrupts[0].risk",
            "interrupts[0].surprise",
            "interrupts[1].context[0].url",
        ]


def test_a_body_that_is_no_submission_is_refused(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        for body in (b"[]", b"null", b"1", b'"x"', b"{}", b"", b"\xff\xfe", b"\xef\xbb\xbf{}"):
            for path in ("/v1/reviews", "/v1/pauses", "/v1/pauses/claim", "/v1/effects/start", "/v1/effects/end"):
                assert error_of(door.post(path, content=body))[0] == 422


def test_arguments_up_to_a_quarter_mebibyte_are_taken_and_beyond_refused(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        taken = door.post("/v1/reviews", json=action_of("look_up", {"text": "x" * (256 * 1024 - 100)}))
        refused = door.post("/v1/reviews", json=action_of("look_up", {"text": "x" * 256 * 1024}))

        assert taken.status_code == 201
        assert error_of(refused) == (413, "too_large")


def test_a_state_of_eight_mebibytes_is_taken_and_comes_back_and_one_byte_more_is_refused(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        state = "ä" * (4 * MIB - 1)  # two bytes each, and two quotes: 8 MiB, sent as escapes of 24
        taken = door.post("/v1/pauses", json=pause_of(action_of("look_up"), state=state))
        escaped = door.post(
            "/v1/pauses",
            content=json.dumps(pause_of(action_of("look_up"), state=state, run="2")),
        )
        claimed = exact(door.post("/v1/pauses/claim", json={"agents": ["shop"], "worker": "w"}))
        refused = door.post("/v1/pauses", json=pause_of(action_of("look_up"), state=state + "x"))

        assert (taken.status_code, escaped.status_code) == (201, 201)
        assert claimed["claim"]["pause"]["run_state"] == state
        assert error_of(refused) == (413, "too_large")


def test_a_body_without_a_length_is_cut_off_at_the_limit(database_url: str) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"reason": "'
        for _ in range(40):
            yield b"x" * 64 * 1024
        yield b'"}'

    with a_desk(database_url) as desk, a_door(desk) as door:
        answers = [
            door.post("/v1/reviews", content=endless()),
            door.post("/v1/reviews", content=b"x" * (40 * MIB)),
            door.post("/v1/pauses", content=b"x" * (40 * MIB)),
        ]

        assert [error_of(answer) for answer in answers] == [(413, "too_large")] * 3
        assert door.get("/healthz").status_code == 200


NONSENSE: list[tuple[str, dict[str, Any]]] = [
    ("/v1/pauses/claim", {"agents": ["shop"], "worker": "w", "pause_id": "\x00"}),
    ("/v1/pauses/claim", {"agents": ["shop"], "worker": "w" * 201}),
    ("/v1/pauses/claim", {"agents": [], "worker": "w"}),
    ("/v1/pauses/claim", {"agents": ["shop"], "worker": "w", "wait": 61}),
    ("/v1/pauses/ps_1/heartbeat", {"fence": 2**63}),
    ("/v1/pauses/ps_1/heartbeat", {"fence": "1"}),
    ("/v1/pauses/ps_1/heartbeat", {"fence": True}),
    ("/v1/effects/start", {"pause_id": "\x00", "fence": 1, "review_id": "r", "digest": "d"}),
    ("/v1/effects/end", {"effect_id": "e", "pause_id": "p", "fence": 1, "status": "uncertain"}),
]


def test_a_worker_that_sends_nonsense_is_told_so(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        for path, body in NONSENSE:
            assert error_of(door.post(path, json=body)) == (422, "invalid")
