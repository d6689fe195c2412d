"""Bodies and answers: what Content-Type and Accept mean."""

from __future__ import annotations

import json

import pytest

from saltlite.api import negotiation
from saltlite.api.messages import HttpError
from saltlite.api.negotiation import (
    JSON,
    YAML,
    as_chunks,
    choose_type,
    encode,
    encode_error,
    encode_json,
    read_body,
    wants_page,
)

FORM = "application/x-www-form-urlencoded"


def status_of(content_type: str, body: bytes) -> int:
    with pytest.raises(HttpError) as caught:
        read_body(content_type, body)
    return caught.value.status


@pytest.mark.parametrize(
    ("content_type", "body", "value"),
    [
        ("", b"", None),
        ("application/xml", b"", None),
        (JSON, b'{"a": [1, null]}', {"a": [1, None]}),
        ("application/json; charset=utf-8", b"[]", []),
        ("text/plain;charset=UTF-8", b'{"a": 1}', {"a": 1}),
        ("text/plain", b"hello", "hello"),
        (YAML, b"- {a: 1}\n", [{"a": 1}]),
        ("text/yaml", b"a: b", {"a": "b"}),
        (FORM, b"a=1&b=x%20y", {"a": "1", "b": "x y"}),
        (FORM, b"tgt=m1&tgt=m2", {"tgt": ["m1", "m2"]}),
        (FORM, b"arg=3&arg={a: 1}&arg=one%3D1", {"arg": [3, {"a": 1}, "one=1"]}),
        (FORM, b"arg=3", {"arg": [3]}),
        (FORM, b"kwarg={k: 1}", {"kwarg": {"k": 1}}),
    ],
)
def test_bodies(content_type: str, body: bytes, value: object) -> None:
    assert read_body(content_type, body) == value


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("", b"x", 406),
        ("application/xml", b"<a/>", 406),
        ("multipart/form-data; boundary=x", b"--x", 406),
        (JSON, b"{", 400),
        (JSON, b"NaN", 400),
        (JSON, b'{"a": Infinity}', 400),
        (JSON, b'"\\ud800"', 400),
        (JSON, b"\xff\xfe", 400),
        (JSON, b"1" * 5000, 400),
        (JSON, b"[" * 101 + b"]" * 101, 400),
        (JSON, b"[" * 200_000, 400),
        (JSON, b'{"a":' * 200_000, 400),
        (YAML, b"{a: [", 400),
        (YAML, b"!!python/object/apply:os.system [id]", 400),
        (YAML, b"[" * 5000, 400),
        (YAML, b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n" + b"".join(
            b"k%d: [%s]\n" % (n, b", ".join([b"*c"] * 50)) for n in range(60)), 400),
        (FORM, b"&".join(b"a%d=1" % n for n in range(1001)), 400),
        (FORM, b"kwarg={a: [", 400),
        (FORM, b"a=%ff", 400),
    ],
)  # fmt: skip
def test_bodies_that_are_refused(content_type: str, body: bytes, status: int) -> None:
    assert status_of(content_type, body) == status


def test_a_hundred_levels_are_allowed() -> None:
    assert read_body(JSON, b"[" * 100 + b"]" * 100)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/json", JSON),
        ("application/x-yaml", YAML),
        ("application/*", JSON),
        ("application/json;q=0.1, application/x-yaml", YAML),
        ("text/html, */*;q=0.1", JSON),
        ("application/json;q=0, */*", JSON),
    ],
)
def test_the_form_of_an_answer(accept: str, kind: str) -> None:
    assert choose_type(accept) == kind


@pytest.mark.parametrize("accept", ["application/xml", "text/html", "application/json;q=0", ",;,"])
def test_forms_that_are_not_there(accept: str) -> None:
    with pytest.raises(HttpError) as caught:
        choose_type(accept)
    assert caught.value.status == 406


@pytest.mark.parametrize(
    ("accept", "is_browser"),
    [
        (None, True),
        ("", True),
        ("*/*", False),
        ("application/json", False),
        ("text/html", True),
        ("application/json, text/html;q=0.5", True),
        ("text/html;q=0, application/json", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", True),
    ],
)
def test_who_gets_the_app(accept: str | None, is_browser: bool) -> None:
    assert wants_page(accept) is is_browser


def test_json_is_ascii_and_never_breaks() -> None:
    assert encode_json({"a": "grün ☃"}) == b'{"a": "gr\\u00fcn \\u2603"}'
    odd = {"nan": float("nan"), "b": b"\xff", 3: {1, 2}, b"k": 1}
    assert json.loads(encode_json(odd)) == {"nan": None, "b": "\ufffd", "3": [1, 2], "k": 1}
    assert encode({"a": [1]}, YAML) == b"a:\n- 1\n"


def test_errors_have_the_wanted_form() -> None:
    assert encode_error(401, "no", JSON) == (JSON, b'{"status": 401, "return": "no"}')
    assert encode_error(401, "no", YAML)[0] == YAML
    kind, page = encode_error(404, "<script>", "text/html")
    assert kind.startswith("text/html")
    assert b"<script>" not in page
    assert encode_error(406, "no", "application/xml")[0] == JSON


def test_a_lowstate_is_a_list_or_one_map() -> None:
    assert as_chunks({"a": 1}) == [{"a": 1}]
    assert as_chunks([1]) == [1]
    for wrong in (None, "x", 1, True):
        with pytest.raises(HttpError, match="Lowstates must be a list"):
            as_chunks(wrong)


def test_accept_with_thousands_of_elements_is_quick() -> None:
    assert len(negotiation.read_accept("a/b;q=0.5," * 1000)) == 1000
