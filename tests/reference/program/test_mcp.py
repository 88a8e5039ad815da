"""docs/workflows/mcp: speaks to the server as an assistant does."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import harness
import pngfile

SERVER = harness.ROOT / "docs" / "workflows" / "mcp" / "climg_mcp.py"


class Client:
    def __init__(self, folder):
        self.process = subprocess.Popen([sys.executable, SERVER], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"CLIMG": harness.CLIMG})
        self.count = 0

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.count += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}))
        reply = json.loads(self.process.stdout.readline())
        assert reply["jsonrpc"] == "2.0" and reply["id"] == self.count
        return reply

    def call(self, tool, **arguments):
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result["isError"], result["content"][0]["text"]


@pytest.fixture
def client(tmp_path, rng):
    pngfile.write_png(tmp_path / "a.png", rng.integers(0, 256, (40, 50, 3), dtype=np.uint8))
    shutil.copy(tmp_path / "a.png", tmp_path / "other.png")
    talk = Client(tmp_path)
    yield talk
    talk.process.stdin.close()
    assert talk.process.wait(timeout=10) == 0


def test_server_has_120_lines_at_most():
    assert len(SERVER.read_text().splitlines()) <= 120


def test_conversation(client, tmp_path):
    result = client.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})["result"]
    assert result["protocolVersion"] == "2025-06-18" and result["serverInfo"]["name"] == "climg" and "tools" in result["capabilities"]
    client.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')  # no answer
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert {"info", "chain", "blur", "resize", "denoise"} <= set(tools)
    blur = tools["blur"]["inputSchema"]
    assert blur["properties"]["value"] | {"description": ""} == {"type": "number", "description": "", "minimum": 0.05, "maximum": 1000}
    assert blur["required"] == ["input", "output", "value"]
    assert tools["rotate"]["inputSchema"]["properties"]["crop"]["enum"]

    failed, text = client.call("info", input="a.png")
    assert not failed and json.loads(text)["width"] == 50
    failed, text = client.call("resize", input="a.png", output="b.png", value="20x", filter="lanczos", options={"depth": "16"})
    line = json.loads(text)
    assert not failed and line["status"] == "done" and line["to"]["width"] == 20
    steps = [{"stage": "gray"}, {"stage": "blur", "value": 1.5, "truncate": 4}, {"stage": "levels", "value": "auto"}]
    failed, text = client.call("chain", input="a.png", output="c.png", stages=steps)
    assert not failed
    expected = tmp_path / "expected.png"
    harness.run(tmp_path / "a.png", "--gray", "--blur", "1.5,truncate=4", "--levels", "auto", expected)
    assert np.array_equal(pngfile.read_png(tmp_path / "c.png").samples, pngfile.read_png(expected).samples)
    failed, text = client.call("chain", input="a.png", output="d.tif", stages=[], options={"compression": "best", "strip": True})
    assert not failed and (tmp_path / "d.tif").exists()


def test_compare(client, tmp_path, rng):
    pngfile.write_png(tmp_path / "b.png", rng.integers(0, 256, (40, 50, 3), dtype=np.uint8))
    assert json.loads(client.call("compare", input="a.png", reference="other.png")[1])["equal"] is True
    failed, text = client.call("compare", input="a.png", reference="b.png", **{"min-psnr": 30, "diff": "new.png"})
    line = json.loads(text.splitlines()[0])
    assert not failed and line["passes"] is False and len(line["psnr_channels"]) == 3 and (tmp_path / "new.png").exists()
    assert "exists" in client.call("compare", input="a.png", reference="b.png", diff="other.png")[1]
    for arguments in ({}, {"reference": "missing.png"}, {"reference": "b.png,diff=x.png"}, {"reference": "b.png", "form": "text"}):
        assert client.call("compare", input="a.png", **arguments)[0], arguments
    assert client.call("chain", input="a.png", output="d.png", stages=[{"stage": "compare", "reference": "b.png"}])[0]
    assert not (tmp_path / "x.png").exists() and not (tmp_path / "d.png").exists()


def test_nothing_is_overwritten(client, tmp_path):
    os.symlink("a.png", tmp_path / "link.png")
    os.symlink("nowhere", tmp_path / "broken.png")
    os.link(tmp_path / "a.png", tmp_path / "hard.png")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "broken.png"}
    for output in ("a.png", "./a.png", "link.png", "hard.png", "other.png", "broken.png", "."):
        failed, text = client.call("invert", input="a.png", output=output)
        assert failed and "exists" in text, output
    # The other ways by which a file could be written: keys, keys within values, global options.
    for arguments in ({"value": "a.png", "matrix": "other.png"}, {"value": "a.png,matrix=other.png"},
                      {"value": "a.png", "model": "shift,matrix=other.png"}, {"value": "a.png", "options": {"report": "other.png"}},
                      {"value": "a.png", "options": {"in-place": True}}, {"value": "a.png", "options": {"output": "other.png"}}):
        failed, text = client.call("align", input="a.png", output="new.png", **arguments)
        assert failed, text
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "broken.png"} == before
    assert not (tmp_path / "nowhere").exists()


def test_wrong_calls_are_answered(client):
    failed, text = client.call("blur", input="a.png", output="b.png", value=-1)
    assert failed and "must be from 0.05 to 1000" in text
    failed, text = client.call("crop", input="a.png", output="b.png", value="90x90+0+0")
    assert failed and json.loads(text.splitlines()[0])["stage"] == "crop"
    for arguments in ({}, {"input": "a.png"}, {"input": 3, "output": "b.png"}, {"input": "a.png", "output": "b.png", "value": [2]},
                      {"input": "a.png", "output": "b.png", "value": 2, "nonsense": 1}):
        assert client.call("blur", **arguments)[0], arguments
    assert client.call("chain", input="a.png", output="b.png", stages=[{"stage": "nonsense"}])[0]
    assert client.ask("tools/call", name="nonsense")["error"]["code"] == -32602
    assert client.ask("resources/list")["error"]["code"] == -32601
    client.send("no JSON")
    assert json.loads(client.process.stdout.readline())["error"]["code"] == -32700
    assert client.ask("ping")["result"] == {}
