"""Cleans pages with climg before OCRmyPDF (14 or later) reads them:

    ocrmypdf --plugin climg_pages.py --force-ocr --climg-page "--deskew --background 60,method=divide,light=yes" \
             --climg-ocr "--gray --threshold sauvola --despeckle 12" in.pdf out.pdf

--climg-page changes the page in the PDF and what OCR sees; --climg-ocr follows for OCR alone. Both are stages of climg that keep the size
of the page, such as --deskew, but not --rotate auto. Without --force-ocr OCRmyPDF keeps the page's own image, and nothing may move in it."""

import shlex
import subprocess

from ocrmypdf import hookimpl
from ocrmypdf.exceptions import BadArgsError, ExitCode, ExitCodeException
from PIL import Image


class StagesFailed(ExitCodeException):
    exit_code = ExitCode.child_process_error


def run_stages(source, target, stages):
    """Runs climg, which keeps the resolution; fails if the size changed."""
    done = subprocess.run(["climg", "-y", source, *stages, "-o", target], capture_output=True, text=True)
    if done.returncode:
        raise StagesFailed(done.stderr.strip())
    with Image.open(source) as before, Image.open(target) as after:
        if before.size != after.size:
            raise StagesFailed(f"climg {shlex.join(stages)} changes the size of the page, so that the text would not be over it")
    return target


@hookimpl
def add_options(parser):
    group = parser.add_argument_group("climg", "Clean pages with climg")
    group.add_argument("--climg-page", metavar="STAGES", help="for the page and for OCR: '--deskew'")
    group.add_argument("--climg-ocr", metavar="STAGES", help="then, for OCR alone: '--gray --threshold sauvola'")


@hookimpl
def check_options(options):
    if options.climg_page and not options.force_ocr:
        raise BadArgsError("--climg-page changes pages, which needs --force-ocr")


@hookimpl
def filter_ocr_image(page, image):
    stages = shlex.split(f"{page.options.climg_page or ''} {page.options.climg_ocr or ''}")
    if not stages:
        return image
    given = page.get_path("climg_ocr_in.png")
    image.save(given, dpi=image.info.get("dpi", (300, 300)))
    return Image.open(run_stages(given, page.get_path("climg_ocr_out.png"), stages))


@hookimpl
def filter_page_image(page, image_filename):
    stages = shlex.split(page.options.climg_page or "")
    return run_stages(image_filename, image_filename.with_stem("climg_page"), stages) if stages else image_filename
