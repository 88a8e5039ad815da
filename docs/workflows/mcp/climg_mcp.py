#!/usr/bin/env python3
"""An MCP server for climg: assistants call its stages as tools. JSON-RPC 2.0 over standard input and output, a message a line.

All tools are made from `climg --help=json` when the server starts, so they are those of the climg that is installed. A call reads one
file and writes another one, which must not exist: nothing is ever overwritten. CLIMG names the program, `climg` by default.
"""

import json
import os
import subprocess
import sys

CLIMG = os.environ.get("CLIMG", "climg")
HELP = json.loads(subprocess.run([CLIMG, "--help=json"], check=True, capture_output=True).stdout)
STAGES = {stage["name"]: stage for stage in HELP["stages"]}
# Options that change what an output contains, and a few that only change how it is made.
OPTIONS = {row["name"]: row for row in HELP["options"]
           if row["changes"] or row["name"] in ("compression", "device", "format", "memory-limit", "strip")}
COMPARE = {row["name"] or "reference": row for option in HELP["options"] if option["name"] == "compare"
           for row in option["keys"] if row["name"] != "form"}
PATHS = {"input": {"type": "string", "description": "path of the picture"},
         "output": {"type": "string", "description": "path of the new file, which must not exist; its extension chooses the format"}}


def schema(row):
    """The JSON schema of an option's value."""
    kind = {"flag": "boolean", "integer": "integer", "number": "number"}.get(row["type"], "string")
    limits = {} if row["type"] in ("text", "size") else {"minimum": row["minimum"], "maximum": row["maximum"], "enum": row["words"]}
    return {"type": kind, "description": row["help"]} | {key: value for key, value in limits.items() if value is not None}


def rows_of(stage):
    """The rows of a stage's table by the names that calls use."""
    return ({"value": stage["primary"]} if stage["primary"] else {}) | {row["name"]: row for row in stage["keys"]}


def tool(name, description, properties, required):
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties, "required": required}}


def tools():
    options = {"type": "object", "properties": {name: schema(row) for name, row in OPTIONS.items()}, "additionalProperties": False}
    steps = {"type": "array", "description": "stages in the order in which they run; each has a name and what its own tool takes",
             "items": {"type": "object", "properties": {"stage": {"enum": list(STAGES)}}, "required": ["stage"]}}
    yield tool("info", "what a picture is: format, size, samples, colour, texts", {"input": PATHS["input"]}, ["input"])
    yield tool("compare", "how much a picture differs from a reference: PSNR and SSIM of each channel, the largest difference",
               {"input": PATHS["input"]} | {name: schema(row) for name, row in COMPARE.items()}, ["input", "reference"])
    yield tool("chain", "several stages, or none to convert", PATHS | {"stages": steps, "options": options}, ["input", "output", "stages"])
    for stage in STAGES.values():
        if stage["in"] == "image":
            required = ["input", "output", *(["value"] if stage["primary"] and stage["primary"]["needs_value"] else [])]
            properties = {name: schema(row) for name, row in rows_of(stage).items()} | {"options": options}
            yield tool(stage["name"], f"{stage['brief']}. {stage['manual']}", PATHS | properties, required)


def new_file(path):
    if os.path.lexists(path):
        raise ValueError(f"{path} exists; nothing is overwritten, so name a new file")
    return os.path.abspath(path)


def text_of(row, value, keys=()):
    """The value as it is written after '='. A piece after a comma must not begin another key."""
    text = new_file(value) if row["writes"] else str(value)
    if isinstance(value, (dict, list, bool)) or any("=" in piece and piece.split("=")[0] in keys for piece in text.split(",")):
        raise ValueError(f"{row['synopsis']}: not a number or a text without other keys")
    return text


def argument(name, rows, given):
    """Returns --NAME=VALUE,KEY=VALUE."""
    keys = sorted(given, key=list(rows).index)  # ValueError if one is unknown
    parts = [("" if key in ("value", "reference") else f"{key}=") + text_of(rows[key], given[key], rows) for key in keys]
    return f"--{name}" + ("=" + ",".join(parts) if parts else "")


def command(name, given):
    """Returns climg's arguments for a call. Raises KeyError or ValueError for a wrong one."""
    source = os.path.abspath(given.pop("input"))
    if name in ("info", "compare"):
        return ["--info=json" if name == "info" else argument(name, COMPARE, given) + ",form=json", source]
    output, options = new_file(given.pop("output")), given.pop("options", {})
    steps = [(step.pop("stage"), step) for step in given.pop("stages")] if name == "chain" else [(name, given)]
    switches = [f"--{key}" if OPTIONS[key]["type"] == "flag" else f"--{key}={text_of(OPTIONS[key], value)}"
                for key, value in options.items() if value is not False]
    return ["--report=-", *switches, source, *(argument(stage, rows_of(STAGES[stage]), step) for stage, step in steps), "--output", output]


def answer(request):
    method, given = request.get("method"), request.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": given.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                "serverInfo": {"name": "climg", "version": HELP["version"]}}
    if method in ("ping", "tools/list"):
        return {"tools": TOOLS} if method == "tools/list" else {}
    if method != "tools/call":
        raise NotImplementedError(f"there is no method {method}")
    if given.get("name") not in {each["name"] for each in TOOLS}:
        raise LookupError(f"there is no tool {given.get('name')}")
    try:
        words = [CLIMG, *command(given["name"], given.get("arguments") or {})]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        text, failed = done.stdout + done.stderr, done.returncode not in (0, 4)  # 4: pictures differ
    except (KeyError, ValueError, TypeError, AttributeError) as problem:
        text, failed = f"wrong arguments: {problem}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


TOOLS = list(tools())
for line in sys.stdin:
    reply = {"jsonrpc": "2.0", "id": None}
    try:
        if "id" not in (message := json.loads(line)):
            continue  # a notification
        reply["id"] = message["id"]
        reply["result"] = answer(message)
    except (LookupError, NotImplementedError, ValueError, TypeError, AttributeError) as problem:
        code = {NotImplementedError: -32601, LookupError: -32602}.get(type(problem), -32700)
        reply["error"] = {"code": code, "message": str(problem)}
    print(json.dumps(reply), flush=True)
