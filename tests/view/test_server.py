from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from ingot.view.answers import Answers
from ingot.view.api import view
from ingot.view.bundled import PAGE, bundle, script, style
from ingot.view.editable import Editable
from ingot.view.http import Connection, Threads
from ingot.view.saved import saved_page
from ingot.view.server import Server
from view.samples import layers

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\u202egnp.exe'


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    answers = Answers(layers(3), "layers")
    with Server(lambda: answers) as running:
        yield running


def request(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
        response = connection.getresponse()
        return response.status, {name.lower(): text for name, text in response.getheaders()}, response.read()
    finally:
        connection.close()


def below(server: Server, path: str = "") -> str:
    return f"{urlsplit(server.url).path}{path}"


def test_the_page_and_its_data_are_served(server: Server) -> None:
    status, headers, content = request(server, below(server))
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    nonce = re.search(r"script-src 'nonce-(\w{32})'; style-src 'nonce-\1'", headers["content-security-policy"])
    assert nonce is not None
    assert f'<style nonce="{nonce[1]}">{style()}</style>'.encode() in content
    assert f'<script nonce="{nonce[1]}">{script()}</script>'.encode() in content
    status, _, content = request(server, below(server, "data/model"))
    assert status == 200
    assert json.loads(content)["title"] == "layers"


def test_every_answer_has_a_nonce_of_its_own(server: Server) -> None:
    policies = [request(server, below(server))[1]["content-security-policy"] for _ in range(2)]
    assert policies[0] != policies[1]


def test_the_page_may_load_nothing_from_elsewhere(server: Server) -> None:
    policy = request(server, below(server))[1]["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/data/model", "//data/model", "/../../etc/passwd"])
def test_without_the_token_nothing_is_served(server: Server, path: str) -> None:
    assert request(server, path)[0] == 403


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}])
def test_other_hosts_and_origins_are_refused(server: Server, headers: dict[str, str]) -> None:
    assert request(server, below(server, "data/model"), **headers)[0] == 403


@pytest.mark.parametrize("name", ["../server.py", "..%2fserver.py", "/etc/passwd", "main.js", "page.html"])
def test_nothing_is_served_but_the_page_and_its_data(server: Server, name: str) -> None:
    assert request(server, below(server, name))[0] == 404


def test_a_request_that_computes_needs_an_origin(server: Server) -> None:
    assert request(server, below(server, "data/run"), "POST")[0] == 400


@pytest.mark.parametrize(
    "content",
    [
        b"nonsense\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n: no name\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\rOrigin: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\0\r\n\r\n",
        b"GET / HTTP/1.1\r\r\n\r\n",
        b"GET / HTTP/1.7\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"h%d: x\r\n" % i for i in range(200)) + b"\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"h%d: %s\r\n" % (i, b"x" * 9000) for i in range(9)) + b"\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(server: Server, content: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(content)
        with contextlib.suppress(OSError):  # the server may have answered and closed it
            connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("length", ["-1", "1e3", "1, 1", "", "\u0663"])
def test_a_body_has_a_length_that_can_be(server: Server, length: str) -> None:
    headers = f"Host: 127.0.0.1:{server.port}\r\nOrigin: http://127.0.0.1:{server.port}\r\nContent-Length: {length}"
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(f"POST {below(server, 'data/run')} HTTP/1.1\r\n{headers}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("length", [str((1 << 30) + 1), str(1 << 40), "9" * 5000])
def test_a_body_that_is_too_large_is_refused_in_words(server: Server, length: str) -> None:
    answer = exchanged(server, head(server, f"POST {below(server, 'data/run')} HTTP/1.1", f"Content-Length: {length}"))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert "at most 1,073,741,824 bytes" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def exchanged(server: Server, content: bytes) -> bytes:
    """All that the server answers to bytes after which nothing follows."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
        return answer


def head(server: Server, first: str, *headers: str) -> bytes:
    own = f"127.0.0.1:{server.port}"
    return "\r\n".join([first, f"Host: {own}", f"Origin: http://{own}", *headers, "", ""]).encode()


def test_a_request_that_is_cut_off_is_not_followed(server: Server) -> None:
    whole = head(server, f"GET {below(server)} HTTP/1.1")
    assert exchanged(server, whole).startswith(b"HTTP/1.1 200 ")
    for cut in (len(whole) - 2, len(whole) - 4, len(whole) - 10):
        assert exchanged(server, whole[:cut]).startswith(b"HTTP/1.1 400 ")


def test_a_body_that_is_cut_off_is_not_used(server: Server) -> None:
    start = head(server, f"POST {below(server, 'data/labels/cut')} HTTP/1.1", "Content-Length: 9")
    assert exchanged(server, start + b"cat\ndo").startswith(b"HTTP/1.1 400 ")
    assert json.loads(request(server, below(server, "data/state/cut"))[2])["labels"] == 0
    assert exchanged(server, start + b"cat\ndogs\n").startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("path", ["", "missing", "data/model"])
def test_a_body_that_nobody_reads_is_no_request(server: Server, path: str) -> None:
    hidden = head(server, f"GET {below(server)} HTTP/1.1")
    for body in (f"Content-Length: {len(hidden)}", "Transfer-Encoding: chunked"):
        answer = exchanged(server, head(server, f"GET {below(server, path)} HTTP/1.1", body) + hidden)
        assert answer.count(b"HTTP/1.1 ") == 1
        assert b"Connection: close" in answer


@pytest.mark.parametrize(("path", "status"), [("data/run", 413), ("data/labels/x", 413), ("", 403)])
def test_who_sends_all_of_a_refused_body_reads_the_answer(
    server: Server, monkeypatch: pytest.MonkeyPatch, path: str, status: int
) -> None:
    monkeypatch.setattr("ingot.view.server._MOST_BYTES", 1 << 20)
    content = bytes(20 << 20)
    target = below(server, path) if path else "/wrong/"
    start = head(server, f"POST {target} HTTP/1.1", f"Content-Length: {len(content)}")
    assert exchanged(server, start + content).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_body_that_pauses_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.view.http._PATIENCE", 0.05)
    answers = Answers(layers(1), "layers")
    with Server(lambda: answers) as own, socket.create_connection(("127.0.0.1", own.port), 10) as connection:
        connection.sendall(head(own, f"POST {below(own, 'data/labels/x')} HTTP/1.1", "Content-Length: 9") + b"cat")
        assert connection.recv(100) == b""


def test_headers_that_come_letter_by_letter_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.view.http._PATIENCE", 0.5)
    answers = Answers(layers(1), "layers")
    with Server(lambda: answers) as own, socket.create_connection(("127.0.0.1", own.port), 0.1) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        end = time.monotonic() + 10

        def is_open() -> bool:
            try:
                connection.sendall(b"a")
                return connection.recv(100) != b""
            except TimeoutError:
                return True
            except ConnectionError:
                return False

        while is_open():
            assert time.monotonic() < end


def test_a_request_may_come_in_pieces(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        for letter in head(server, f"GET {below(server)} HTTP/1.1"):
            connection.sendall(bytes([letter]))
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_connection_ends_when_the_browser_says_so(server: Server) -> None:
    again = head(server, f"GET {below(server, 'data/model')} HTTP/1.1")
    for first, headers in (("HTTP/1.0", ()), ("HTTP/1.1", ("Connection: x, Close",))):
        asked = head(server, f"GET {below(server, 'data/model')} {first}", *headers)
        assert exchanged(server, asked + again).count(b"HTTP/1.1 200 ") == 1


def test_a_file_whose_name_is_too_long_for_any_is_not_there(server: Server) -> None:
    assert request(server, below(server, "a" * 5000 + ".js"))[0] == 404


def test_who_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.view.http._PATIENCE", 0.05)
    answers = Answers(layers(1), "layers")
    with Server(lambda: answers) as own:
        for start in (b"", b"GET / HTTP/1.1\r\nHost: "):
            with socket.create_connection(("127.0.0.1", own.port), 10) as connection:
                connection.sendall(start)
                assert connection.recv(100) == b""


def test_a_connection_that_is_silent_gives_way_to_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.view.http._MOST_CONNECTIONS", 2)
    answers = Answers(layers(1), "layers")
    with Server(lambda: answers) as own, ExitStack() as stack:
        asked = head(own, f"GET {below(own)}missing HTTP/1.1")

        def answered(connection: socket.socket) -> bool:
            connection.sendall(asked)
            return connection.recv(65536).startswith(b"HTTP/1.1 404 ")

        def connected() -> socket.socket:
            return stack.enter_context(socket.create_connection(("127.0.0.1", own.port), 10))

        first, second = connected(), connected()
        assert answered(first)
        time.sleep(0.5)  # it waits for the next request before the other does
        assert answered(second)
        time.sleep(0.5)
        assert answered(connected())
        assert first.recv(100) == b""  # it has waited longest
        assert answered(second)


def test_connections_that_ask_for_something_do_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.view.http._MOST_CONNECTIONS", 1)
    answers = Answers(layers(1), "layers")
    with Server(lambda: answers) as own, ExitStack() as stack:
        first = stack.enter_context(socket.create_connection(("127.0.0.1", own.port), 10))
        first.sendall(head(own, f"GET {below(own)}missing HTTP/1.1")[:-2])  # all but its end
        time.sleep(0.5)
        second = stack.enter_context(socket.create_connection(("127.0.0.1", own.port), 10))
        assert second.recv(100) == b""
        first.sendall(b"\r\n")
        assert first.recv(65536).startswith(b"HTTP/1.1 404 ")


def test_a_connection_that_begins_to_speak_meanwhile_does_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(dict[Any, Any]):
        """Silent connections, and one that was silent when they were listed."""

        def __iter__(self) -> Iterator[Any]:
            return iter([speaking, *super().__iter__()])

    monkeypatch.setattr("ingot.view.http._MOST_CONNECTIONS", 0)
    with Threads(("127.0.0.1", 0), Connection) as own, ExitStack() as stack:
        speaking, silent = (stack.enter_context(socket.socket()) for _ in range(2))
        monkeypatch.setattr(own, "_silent", Late())
        assert not own.verify_request(None, None)
        with own.silent(silent):
            assert own.verify_request(None, None)


def test_a_server_that_is_closed_ends_its_connections() -> None:
    answers = Answers(layers(1), "layers")
    with Server(lambda: answers) as own:
        connection = http.client.HTTPConnection("127.0.0.1", own.port, timeout=10)
        connection.request("GET", below(own, "data/model"))
        assert connection.getresponse().read()
    connection.auto_open = 0

    def again() -> None:
        connection.request("GET", below(own, "data/model"))
        connection.getresponse()

    with contextlib.closing(connection), pytest.raises(ConnectionError):
        again()


def test_a_browser_that_goes_away_is_no_error(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    for content in (head(server, f"GET {below(server)} HTTP/1.1") * 20, b"nonsense\r\n" * 20_000):
        connection = socket.create_connection(("127.0.0.1", server.port), 10)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, at once
        connection.sendall(content)
        connection.close()
    assert request(server, below(server))[0] == 200
    time.sleep(0.2)  # connections are answered in threads of their own
    assert capfd.readouterr().err == ""


def test_a_connection_takes_several_requests(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(3):
        connection.request("GET", below(server, "data/model"))
        assert connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize("path", ["explain/{}", "result/t/1/{}", "file/flow/t/1/{}", "file/npy/0/{}", "at/{}/model"])
def test_a_number_of_thousands_of_digits_is_not_there(path: str) -> None:
    shown = Editable(Answers(layers(3), "layers"))
    with Server(lambda: shown) as server:
        assert request(server, below(server, f"data/{path.format('9' * 5000)}"))[0] == 404


def test_unknown_data_is_reported_in_words(server: Server) -> None:
    status, _, content = request(server, below(server, "data/level/999"))
    assert status == 404
    assert "level/999" in json.loads(content)["error"]


def posted(server: Server, path: str, body: bytes = b"{}") -> tuple[int, str]:
    """The status and the error of a request of the page that computes something."""
    origin = f"http://127.0.0.1:{server.port}"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("POST", below(server, f"data/{path}"), body, {"Origin": origin})
        response = connection.getresponse()
        return response.status, json.loads(response.read()).get("error", "")
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["é" * 127 + "ab", "a" * 256, "模" * 86])
def test_a_dropped_file_whose_name_no_file_system_takes_is_refused_in_words(server: Server, name: str) -> None:
    status, error = posted(server, f"open/long/{quote(name)}", b"x")
    assert status == 422
    assert "at most 255 bytes" in error
    assert "rename it" in error


@pytest.mark.parametrize("name", ["é" * 127 + "a", "a" * 255])
def test_a_dropped_file_may_have_a_name_of_255_bytes(server: Server, name: str) -> None:
    assert posted(server, f"open/fits/{quote(name)}", b"x") == (200, "")


def test_a_dropped_file_that_is_no_model_is_not_the_server_s_fault(server: Server) -> None:
    assert posted(server, "open/text/notes.onnx", b"these are notes") == (200, "")
    status, error = posted(server, "open/text")
    assert status == 422
    assert "\n  of notes.onnx" in error  # without the folder that it was put into


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("run/t", b'{"seed": "x"}', 422),
        ("run/t", b'{"seed": -1}', 422),
        ("run/t", b'{"shapes": {"x": "0, banana"}}', 422),
        ("run/t", b'{"changes": [1]}', 404),
        ("run/t", b'{"changes": {"0": 3}}', 404),
        ("run/t", b'{"changes": {"0": {"kind": "scale", "amount": "much"}}}', 422),
        ("run/t", b'{"changes": {"0": {"kind": "scale", "amount": NaN}}}', 422),
        ("run/t", b'{"changes": {"0": {"kind": "element", "at": "first"}}}', 422),
        ("profile/t", b'{"seconds": "long"}', 422),
        ("profile/t", b'{"precision": "float13"}', 422),
        ("profile/t", b'{"threads": 0.5}', 422),
        ("compare/t", b'{"run": 7, "with": "cpu"}', 422),
        ("feed/t/0/0/notes.txt", b"these are notes", 422),
        ("feed/t/0/0/" + "x" * 300, b"these are notes", 422),
        ("feed/t/0/0/x." + "x" * 300, b"these are notes", 422),
        ("feed/t/0/0/a/b", b"these are notes", 422),
        ("feed/t/0/0/%00", b"these are notes", 422),
        ("feed/t/0/0/x.npy", b"no array", 422),
        ("feed/t/0/0/x.png", b"no image", 422),
        ("feed/t/0/0/x.wav", b"no sound", 422),
        ("feed/t/0/0/x.json", b"{", 422),
        ("feed/t/0/0/x.npz", b"PK", 422),
        ("tokeniser/t", b"{", 422),
        ("tokeniser/t", b"\xff\xfe", 422),
        ("labels/t", b"{", 422),
        ("text/t", b'{"text": "hello"}', 422),
    ],
)
def test_what_a_user_gets_wrong_is_answered_in_words(server: Server, path: str, body: bytes, status: int) -> None:
    answered, error = posted(server, path, body)
    assert answered == status, error
    assert error
    assert not re.match(r"[A-Z]\w*(Error|Exception):", error)


def test_the_server_listens_on_the_loopback_address_alone(server: Server) -> None:
    assert server.url.startswith("http://127.0.0.1:")


def test_a_port_in_use_is_an_error(server: Server) -> None:
    with pytest.raises(OSError, match="in use"):
        Server(lambda: None, port=server.port)  # type: ignore[arg-type,return-value]


def test_view_shows_a_model_from_python() -> None:
    shown = view(layers(2), title="<b>", open_browser=False)
    try:
        assert shown.url in shown._repr_html_()
        assert shown._repr_html_().startswith("<iframe")
    finally:
        shown.close()


def test_a_saved_page_is_whole_and_no_name_ends_its_script() -> None:
    model = layers(1)
    model.graph.nodes[0].name = HOSTILE
    model.metadata["</script>"] = HOSTILE
    page = saved_page(Answers(model, HOSTILE))
    assert page.count("</script>") == 2
    assert "src=" not in page.replace('src="data:', "").split("<script", maxsplit=1)[0]
    assert "import " not in bundle().replace('import("./', "")
    assert "\nexport " not in bundle()


def test_the_types_of_the_page_are_checked() -> None:
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("the types of the page are checked by TypeScript's tsc, which is not installed")
    options = "--noEmit --allowJs --checkJs --strict --target es2022 --module es2022 --moduleResolution bundler"
    command = [compiler, *options.split(), "--lib", "es2022,dom,dom.iterable", "main.js"]
    ended = subprocess.run(command, cwd=PAGE, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_modules_of_the_page_have_no_names_in_common() -> None:
    names: dict[str, str] = {}
    for file in sorted(PAGE.glob("*.js")):
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", file.read_text("utf-8"), re.MULTILINE
        ):
            assert name not in names, f"{file.name} and {names[name]} both have {name}"
            names[name] = file.name
