#!/usr/bin/python3
"""Writes what climg is made of as CycloneDX 1.5: docs/packaging/sbom.py VERSION PACKAGE... (make sbom).

PACKAGE is a library as pkg-config calls it, in the version of this machine. The same libraries and the same time, SOURCE_DATE_EPOCH in
seconds since 1970, give the same bytes.
"""
import datetime
import json
import os
import subprocess
import sys
import uuid

# pkg-config's name: the project's name, its licence (SPDX), its page. Which loader of OpenCL drivers a system has, its name does not tell.
PROJECTS = {
    "libpng": ("libpng", "libpng-2.0", "http://www.libpng.org/pub/png/libpng.html"),
    "zlib": ("zlib", "Zlib", "https://zlib.net"),
    "libjpeg": ("libjpeg-turbo", "IJG AND BSD-3-Clause AND Zlib", "https://libjpeg-turbo.org"),
    "libisal": ("isa-l", "BSD-3-Clause", "https://github.com/intel/isa-l"),
    "libtiff-4": ("libtiff", "libtiff", "https://libtiff.gitlab.io/libtiff"),
    "libwebp": ("libwebp", "BSD-3-Clause", "https://developers.google.com/speed/webp"),
    "libwebpmux": ("libwebpmux", "BSD-3-Clause", "https://developers.google.com/speed/webp"),
    "libwebpdemux": ("libwebpdemux", "BSD-3-Clause", "https://developers.google.com/speed/webp"),
    "lcms2": ("little-cms", "MIT", "https://www.littlecms.com"),
    "OpenCL": ("opencl-icd-loader", None, "https://www.khronos.org/opencl"),
    "jansson": ("jansson", "MIT", "https://github.com/akheron/jansson"),
}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def component(kind, name, version, licence):
    purl = f"pkg:generic/{name}@{version}"
    licences = {"licenses": [{"expression": licence}]} if licence else {}
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, **licences, "purl": purl}


def library(package):
    name, licence, page = PROJECTS[package]
    described = component("library", name, output_of("pkg-config", "--modversion", package), licence)
    return {**described, "externalReferences": [{"type": "website", "url": page}]}


def main(version, *packages):
    program = component("application", "climg", version, "MIT")
    libraries = sorted(map(library, packages), key=lambda one: one["name"])
    refs = [one["bom-ref"] for one in libraries]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, " ".join([program["purl"], time, *refs])).urn,
        "version": 1,
        "metadata": {"timestamp": time, "component": program},
        "components": libraries,
        "dependencies": [{"ref": program["bom-ref"], "dependsOn": refs}, *({"ref": ref} for ref in refs)],
    }
    print(json.dumps(bom, indent=2))


if __name__ == "__main__":
    main(*sys.argv[1:])
