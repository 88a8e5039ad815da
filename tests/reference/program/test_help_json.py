"""--help=json: follows docs/help.schema.json, and leaves out nothing that --help=all and --help=STAGE list."""

import json
import re
import shlex

import numpy as np
import tifffile
from PIL import Image

import harness

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float)}


def check(value, schema, root, place="help"):
    """The part of JSON Schema that docs/help.schema.json uses."""
    known = {"$schema", "$defs", "$ref", "title", "description", "type", "enum", "anyOf", "required", "properties", "additionalProperties",
             "items", "minItems"}
    assert set(schema) <= known, f"{place}: this test does not know {set(schema) - known}"
    if "$ref" in schema:
        check(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, place)
    if "anyOf" in schema:
        assert any(value is None if "type" in each else isinstance(value, dict) for each in schema["anyOf"]), place
        if value is not None:
            check(value, schema["anyOf"][1], root, place)
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    assert not names or any(isinstance(value, TYPES[name]) and not (name == "number" and value is True) for name in names), place
    assert value in schema.get("enum", [value]), place
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema["required"]) <= set(value) and set(value) <= set(schema["properties"]), place
        for key, each in value.items():
            check(each, schema["properties"][key], root, f"{place}.{key}")
    if isinstance(value, list):
        assert len(value) >= schema.get("minItems", 0), place
        for i, each in enumerate(value):
            check(each, schema.get("items", {}), root, f"{place}[{i}]")


def catalogue():
    return json.loads(harness.run("--help=json").out)


def test_it_follows_its_schema():
    schema = json.loads((harness.ROOT / "docs" / "help.schema.json").read_text())
    check(catalogue(), schema, schema)
    try:
        import jsonschema
    except ImportError:
        return
    jsonschema.validate(catalogue(), schema)


def test_every_option_and_stage_of_the_help_is_in_it():
    told = catalogue()
    text = harness.run("--help=all").out.decode()
    stages, options = text.split("\nOptions, anywhere:\n")
    names = re.findall(r"^  --([a-z-]+)", stages, re.M)
    assert sorted(names) == [stage["name"] for stage in told["stages"]] == sorted(harness.stages())
    found = re.findall(r"^  (?:-(\w), |    )--([a-z0-9-]+)", options, re.M)
    assert found == [(option["letter"] or "", option["name"]) for option in told["options"]]
    for stage in told["stages"]:
        text = harness.run(f"--help={stage['name']}").out.decode()
        head, _, body = text.partition("\n\n")
        assert head.startswith(stage["synopsis"]) and stage["brief"] in head
        rows = [stage["primary"]] * (stage["primary"] is not None) + stage["keys"]
        for row in rows:
            assert re.search(rf"^  {re.escape(row['synopsis'])}(?: |$)", body, re.M), row["synopsis"]
        keys = re.findall(r"^  ([a-z][a-z0-9_-]*)=", body.split("\nExamples:")[0], re.M)
        assert keys == [row["name"] for row in stage["keys"]]
        for example in stage["examples"]:
            assert example["command"] in text


def test_ranges_words_and_defaults_are_those_of_the_parser():
    """A value beyond the range, and a word that is none, fail with the numbers and words of the object."""
    told = catalogue()
    for stage in told["stages"]:
        start = "" if stage["primary"] is None or not stage["primary"]["needs_value"] else "1,"
        for row in stage["keys"]:
            if row["type"] in ("integer", "number") and row["maximum"] is not None:
                beyond = f"{start}{row['name']}={row['maximum'] + 1:.15g}"
                done = harness.run("a.png", f"--{stage['name']}={beyond}", "b.png", status=2)
                assert f"must be from {row['minimum']:.15g} to {row['maximum']:.15g}" in done.err
            if row["type"] == "choice":
                done = harness.run("a.png", f"--{stage['name']}={start}{row['name']}=?", "b.png", status=2)
                assert ", ".join(row["words"]) in done.err or "not yes or no" in done.err
                assert row["default"] is None or row["default"] in row["words"]
    options = {row["name"]: row for row in told["options"]}
    assert options["quality"] | {"help": ""} == {
        "name": "quality", "letter": None, "synopsis": "--quality N", "type": "integer", "value": "N", "needs_value": True, "minimum": 1,
        "maximum": 100, "words": None, "default": None, "implied": None, "changes": "output", "modes": ["convert"],
        "writes": False, "help": "", "keys": []}
    assert options["info"]["implied"] == "text" and not options["info"]["needs_value"]
    assert options["memory-limit"]["maximum"] is None and options["memory-limit"]["type"] == "size"


def test_formats_hold_what_can_be_written(tmp_path):
    """Pillow and tifffile say what became of colour with alpha, of 16 bits, and of two pages."""
    samples = np.full((4, 5, 4), 30000, np.uint16)
    tifffile.imwrite(tmp_path / "in.tif", samples, photometric="rgb", extrasamples=["unassalpha"])
    tifffile.imwrite(tmp_path / "pages.tif", samples[:, :, 0][None].repeat(2, 0), photometric="minisblack")
    for form in (form for form in catalogue()["formats"] if form["name"] in ("JPEG", "PNG", "TIFF", "WebP")):
        made = tmp_path / f"out.{form['extensions'][0]}"
        harness.run("-q", tmp_path / "in.tif", made)
        channels, bits = (tifffile.imread(made).shape[-1], tifffile.imread(made).dtype.itemsize * 8) if form["name"] == "TIFF" else (
            len(Image.open(made).getbands()), 16 if form["name"] == "PNG" and made.read_bytes()[24] == 16 else 8)
        assert channels == max(form["channels"]) and (f"{bits} bit" in form["samples"]) and ("16 bit" in form["samples"]) == (bits == 16)
        harness.run("-q", tmp_path / "pages.tif", "-y", made, status=0 if form["pages"] else 1)
    assert [form["name"] for form in catalogue()["formats"] if form["video"]] == ["Y4M"]


def test_keys_of_an_option_have_its_modes():
    compare, = [row for row in catalogue()["options"] if row["name"] == "compare"]
    assert all(row["modes"] == compare["modes"] == ["compare"] for row in compare["keys"])


def test_recipes_can_be_written_from_it():
    """Every stage, option, key and word of a choice in docs/recipes.md is in the object."""
    told = catalogue()
    stages = {stage["name"]: stage for stage in told["stages"]}
    options = {row["name"]: row for row in told["options"]}
    letters = {row["letter"]: row for row in told["options"] if row["letter"]}
    commands = re.findall(r"^ {4}.*?\bclimg (.*?)(?:  #.*)?$", (harness.ROOT / "docs" / "recipes.md").read_text(), re.M)
    assert len(commands) >= 60
    for command in commands:
        words = shlex.split(re.split(r" [|>] ", command)[0])
        for i, word in enumerate(words):
            if re.match(r"-[a-zA-Z0]", word):
                assert all(letter in letters for letter in word[1:].split("=")[0][:1]), command
            if not word.startswith("--") or word == "--":
                continue
            name, _, value = word[2:].partition("=")
            assert name in stages or name in options, command
            rows = stages[name]["keys"] if name in stages else options[name]["keys"]
            needs = options[name]["needs_value"] if name in options else (stages[name]["primary"] or {}).get("needs_value")
            value = value or (words[i + 1] if needs else "")
            keys = {row["name"]: row for row in rows}
            for key, text in re.findall(r"(?:^|,)([a-z-]+)=([^,]*)", value):
                assert key in keys, f"{key} in {command}"
                assert keys[key]["type"] != "choice" or text in keys[key]["words"], command
