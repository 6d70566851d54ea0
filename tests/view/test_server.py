from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from ingot.view.answers import Answers
from ingot.view.api import view
from ingot.view.bundled import PAGE, bundle
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
    assert b"bundle.js" in content
    status, _, content = request(server, below(server, "data/model"))
    assert status == 200
    assert json.loads(content)["title"] == "layers"
    assert request(server, below(server, "bundle.js"))[1]["content-type"].startswith("text/javascript")


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


@pytest.mark.parametrize("name", ["../server.py", "..%2fserver.py", "/etc/passwd", "missing.js", "page"])
def test_only_the_files_of_the_page_are_served(server: Server, name: str) -> None:
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
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"h%d: x\r\n" % i for i in range(200)) + b"\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(server: Server, content: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("length", ["-1", "1e3", str(1 << 40), "\u0663"])
def test_a_body_has_a_length_that_can_be(server: Server, length: str) -> None:
    headers = f"Host: 127.0.0.1:{server.port}\r\nOrigin: http://127.0.0.1:{server.port}\r\nContent-Length: {length}"
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(f"POST {below(server, 'data/run')} HTTP/1.1\r\n{headers}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


def test_a_connection_takes_several_requests(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(3):
        connection.request("GET", below(server, "page.css"))
        assert connection.getresponse().read()
    connection.close()


def test_unknown_data_is_reported_in_words(server: Server) -> None:
    status, _, content = request(server, below(server, "data/level/999"))
    assert status == 404
    assert "level/999" in json.loads(content)["error"]


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
