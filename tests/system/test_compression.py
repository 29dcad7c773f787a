"""gzip of API responses: on request, above a small size, never a stream."""

import gzip
import json
from urllib.request import Request, urlopen

import pytest
from pytest_django.live_server_helper import LiveServer

from tests.support.access import key_to
from tests.support.rows import empty_namespace

SYSTEMS = "/api/v1/systems/"


def fetch(live_server: LiveServer, path: str, **headers: str) -> tuple[bytes, dict[str, str]]:
    """The body as it came over the wire, and the headers."""
    request = Request(live_server.url + path, headers=headers)
    with urlopen(request, timeout=30) as response:
        return response.read(), {name.lower(): value for name, value in response.headers.items()}


def test_a_large_answer_is_compressed_for_whoever_takes_it(live_server: LiveServer) -> None:
    plain, bare = fetch(live_server, SYSTEMS)
    packed, headers = fetch(live_server, SYSTEMS, **{"Accept-Encoding": "br, gzip;q=0.8"})
    assert headers["content-encoding"] == "gzip"
    assert int(headers["content-length"]) == len(packed) < len(plain) / 3
    assert json.loads(gzip.decompress(packed)) == json.loads(plain)
    assert "content-encoding" not in bare
    assert "Accept-Encoding" in bare["vary"]
    assert "Accept-Encoding" in headers["vary"]


@pytest.mark.parametrize("accepted", ["identity", "br", "gzip;q=0", "gzip; q=0.000", "gzipped", "deflate, gzip;q=0"])
def test_whoever_does_not_take_gzip_gets_none(live_server: LiveServer, accepted: str) -> None:
    body, headers = fetch(live_server, SYSTEMS, **{"Accept-Encoding": accepted})
    assert "content-encoding" not in headers
    assert json.loads(body)


def test_a_small_answer_and_a_page_stay_as_they_are(live_server: LiveServer) -> None:
    for path in ("/health/live", "/sign-in/"):
        assert "content-encoding" not in fetch(live_server, path, **{"Accept-Encoding": "gzip"})[1]


def test_a_stream_goes_out_as_it_comes(live_server: LiveServer) -> None:
    key = key_to(empty_namespace("here"))
    body, headers = fetch(live_server, "/api/v1/here/export/", **key, **{"Accept-Encoding": "gzip"})
    assert headers["content-type"] == "application/x-ndjson"
    assert "content-encoding" not in headers
    assert body.splitlines()[-1].startswith(b'{"end":')
