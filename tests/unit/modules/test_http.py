"""``http.query`` against a server of our own."""

from __future__ import annotations

import base64
import datetime
import http.server
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry

PAGES = {
    "/plain": ("text/plain", b"line1\n"),
    "/json": ("application/json", b'{"a": [1, null]}'),
    "/yaml": ("application/x-yaml", b"a: [x]\n"),
    "/xml": ("application/xml", b"<r><a>1</a><b x='2'><c>t</c></b></r>"),
    "/binary": ("application/octet-stream", bytes(range(256))),
    "/bad-json": ("application/json", b"{"),
    "/bad-xml": ("text/xml", b"<r>"),
    "/bomb": ("text/xml", b"<!DOCTYPE r [<!ENTITY a 'aaaa'>]><r>&a;</r>"),
}


class Pages(http.server.BaseHTTPRequestHandler):
    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/echo"):
            said = {
                "method": self.command, "path": self.path, "body": body.decode(),
                "headers": {name.lower(): value for name, value in self.headers.items()},
            }  # fmt: skip
            self._send(200, "application/json", json.dumps(said).encode())
        elif self.path == "/redirect":
            self._send(302, "text/plain", b"", ("Location", "/plain"))
        elif self.path == "/elsewhere":
            self._send(302, "text/plain", b"", ("Location", "file:///etc/passwd"))
        elif self.path in PAGES:
            self._send(200, *PAGES[self.path])
        else:
            self._send(404, "text/plain", b"not here")

    def _send(self, status: int, kind: str, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass

    do_GET = do_POST = do_PUT = do_DELETE = answer


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def ctx() -> MinionContext:
    made = MinionContext(config=MinionConfig(), host=Host(), grains={"id": "web1"}, pillar={})
    made.functions = Registry(made)
    return made


def query(ctx: MinionContext, url: str, **kwargs: Any) -> Any:
    return ctx.functions.call("http.query", url, **kwargs)


def echo(ctx: MinionContext, web: str, **kwargs: Any) -> Any:
    return json.loads(query(ctx, f"{web}/echo", **kwargs)["body"])


@pytest.mark.parametrize(
    ("page", "kwargs", "answer"),
    [
        ("/plain", {}, {"body": "line1\n"}),
        ("/plain", {"text": True, "status": True},
         {"body": "line1\n", "text": "line1\n", "status": 200}),
        ("/json", {"decode": True}, {"body": '{"a": [1, null]}', "dict": {"a": [1, None]}}),
        ("/yaml", {"decode": True}, {"body": "a: [x]\n", "dict": {"a": ["x"]}}),
        ("/plain", {"decode": True}, {"body": "line1\n", "text": "line1\n"}),
        ("/json", {"decode": True, "decode_type": "yaml"},
         {"body": '{"a": [1, null]}', "dict": {"a": [1, None]}}),
        ("/redirect", {"status": True}, {"body": "line1\n", "status": 200}),
        ("/none", {}, {"status": 404, "error": "HTTP 404: Not Found", "body": "not here"}),
        ("/none", {"raise_error": False}, {"body": "not here"}),
        ("/none", {"raise_error": False, "status": True}, {"body": "not here", "status": 404}),
        ("/plain", {"test": True}, {}),
        ("/plain", {"test": True, "test_url": "x"}, {"test": True, "body": "line1\n"}),
    ],
)  # fmt: skip
def test_answers(
    ctx: MinionContext, web: str, page: str, kwargs: dict[str, Any], answer: dict[str, Any]
) -> None:
    assert query(ctx, web + page, **kwargs) == answer


def test_xml_and_unknown_types(ctx: MinionContext, web: str) -> None:
    assert query(ctx, f"{web}/xml", decode=True)["dict"] == [{"a": "1"}, {"b": [{"c": "t"}]}]
    refused = query(ctx, f"{web}/plain", decode=True, decode_type="nosuch")
    assert refused["error"].startswith("Invalid decode_type specified. Valid decode types are: (")


def test_headers_of_the_answer(ctx: MinionContext, web: str) -> None:
    assert "Content-Type: text/plain\n" in query(ctx, f"{web}/plain", headers=True)["headers"]


def test_no_answer(ctx: MinionContext) -> None:
    refused = "[Errno 111] Connection refused"
    assert query(ctx, "http://127.0.0.1:1/x") == {"error": refused}
    assert query(ctx, "http://127.0.0.1:1/x", status=True) == {"status": 0, "error": refused}
    assert query(ctx, "http://127.0.0.1:1/x", raise_error=False) == {"body": None}
    waited = ctx.functions.call("http.wait_for_successful_query", "http://127.0.0.1:1/", wait_for=0)
    assert waited == {"error": refused}


@pytest.mark.parametrize("url", ["ftp://x/y", "nosuch", "file:///etc/passwd", ""])
def test_other_schemes(ctx: MinionContext, url: str) -> None:
    with pytest.raises(FunctionError, match="Unsupported url scheme"):
        query(ctx, url)


@pytest.mark.parametrize("url", ["http://[x", "http://", "http://h:port/", "http://[::1"])
def test_addresses_that_are_none(ctx: MinionContext, url: str) -> None:
    assert "error" in query(ctx, url)


def test_a_redirection_leads_to_the_web_only(ctx: MinionContext, web: str) -> None:
    answer = query(ctx, f"{web}/elsewhere")
    assert "root:" not in str(answer)
    assert "error" in answer


@pytest.mark.parametrize("page", ["/binary", "/bad-json", "/bad-xml", "/bomb"])
def test_bodies_that_cannot_be_read(ctx: MinionContext, web: str, page: str) -> None:
    with pytest.raises(FunctionError):
        query(ctx, web + page, decode=True)


def test_requests(ctx: MinionContext, web: str) -> None:
    said = echo(ctx, web, method="POST", data={"a": 1, "b": "c d"})
    assert (said["method"], said["body"]) == ("POST", "a=1&b=c+d")
    assert said["headers"]["content-type"] == "application/x-www-form-urlencoded"
    assert echo(ctx, web, method="put", data="text")["body"] == "text"
    assert echo(ctx, web, method="DELETE")["method"] == "DELETE"
    assert echo(ctx, web, params={"q": "a b", "r": 1})["path"] == "/echo?q=a+b&r=1"
    said = echo(ctx, web, header_dict={"X-A": "1"}, header_list=["X-B: 2:3"])
    assert (said["headers"]["x-a"], said["headers"]["x-b"]) == ("1", "2:3")
    said = echo(ctx, web, header_dict={"user-agent": "a"}, agent="b/1")
    assert said["headers"]["user-agent"] == "b/1"


@pytest.mark.parametrize(
    "kwargs", [{"username": "u", "password": "p"}, {"auth": ["u", "p"]}], ids=str
)
def test_credentials(ctx: MinionContext, web: str, kwargs: dict[str, Any]) -> None:
    expected = "Basic " + base64.b64encode(b"u:p").decode()
    assert echo(ctx, web, **kwargs)["headers"]["authorization"] == expected


def test_files(ctx: MinionContext, web: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("id={{ grains.id }}\n")
    (tmp_path / "headers").write_text("X-A: from-{{ who }}\n")
    data, headers = str(tmp_path / "data"), str(tmp_path / "headers")
    said = echo(ctx, web, method="POST", data_file=data, data_render=True, header_file=headers,
                header_render=True, template_dict={"who": "me"})  # fmt: skip
    assert (said["body"], said["headers"]["x-a"]) == ("id=web1", "from-me")
    out = tmp_path / "out"
    query(ctx, f"{web}/json", text_out=str(out))
    assert out.read_text() == '{"a": [1, null]}'
    with pytest.raises(FunctionError, match="cannot read"):
        query(ctx, f"{web}/plain", data_file=str(tmp_path / "none"))


def test_headers_hold_no_line_breaks(ctx: MinionContext, web: str) -> None:
    with pytest.raises(FunctionError, match="line break"):
        query(ctx, f"{web}/echo", header_dict={"X-A": "1\r\nX-B: 2"})


def test_wrong_certificates(ctx: MinionContext, web: str) -> None:
    answer = query(ctx, f"{web}/plain", ca_bundle="/nosuch")
    assert answer["error"].startswith("certificates cannot be read")


def certificate(folder: Path) -> tuple[str, str]:
    """A key and a certificate for 127.0.0.1 that nobody but itself vouches for."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([here]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return str(folder / "cert.pem"), str(folder / "key.pem")


def test_certificates_are_checked(ctx: MinionContext, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        url = f"https://127.0.0.1:{server.server_port}/plain"
        assert "CERTIFICATE_VERIFY_FAILED" in query(ctx, url)["error"]
        assert query(ctx, url, verify_ssl=False) == {"body": "line1\n"}
        assert query(ctx, url, ca_bundle=cert) == {"body": "line1\n"}
        assert query(ctx, url, ca_bundle=cert, cert=[cert, key]) == {"body": "line1\n"}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
