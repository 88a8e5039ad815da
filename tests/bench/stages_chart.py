"""The chart of stages.py: for each stage and size how near it comes to the rate of a copy, as SVG."""
from xml.sax.saxutils import escape

COLOURS = ["#2f6db3", "#e0852b", "#6aa84f", "#b3476e", "#7a6bb8", "#8c8c8c"]
BAR, GAP, LABELS, PANEL, MARGIN, TOP, BOTTOM = 11, 9, 230, 300, 26, 92, 52


def text(x, y, words, size=12, anchor="start", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>{escape(words)}</text>'


def axis(x0, height, top):
    """Grid lines and numbers of one panel; `top` is the largest value."""
    step, marks, value = 0.25, [], 0.0
    while value <= top + 1e-9:
        x = x0 + value / top * PANEL
        strong = abs(value - 1) < 1e-9
        marks.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{TOP + height}" stroke="{"#444" if strong else "#ddd"}"/>')
        marks.append(text(x, TOP + height + 16, f"{value:g}", 11, "middle"))
        value += step
    return marks


def bars(cells, series, x0, y, top):
    """The bars of one stage at one size, each with its number."""
    drawn = []
    for i, name in enumerate(series):
        row = cells.get(name)
        if row is None:
            continue
        width, at = min(row["of_copy"], top) / top * PANEL, y + i * BAR
        drawn.append(f'<rect x="{x0}" y="{at}" width="{max(width, 0.5):.1f}" height="{BAR - 2}" fill="{COLOURS[i % len(COLOURS)]}">'
                     f'<title>{1e6 * row["seconds"]:.1f} us</title></rect>')
        drawn.append(text(x0 + width + 4, at + BAR - 3, f'{row["of_copy"]:.2g}', 9, extra='fill="#333"'))
    return drawn


def chart(device, rows):
    """rows: figures of whole stages, with title, size, memory, form, seconds and of_copy."""
    titles = list(dict.fromkeys(row["title"] for row in rows))
    series = list(dict.fromkeys((row["memory"], row["form"]) for row in rows))
    sizes = sorted({row["size"] for row in rows})
    top = 1.25  # longer bars are cut off there; the number says how long they are
    line = len(series) * BAR + GAP
    height, width = len(titles) * line + GAP, LABELS + len(sizes) * (PANEL + 2 * MARGIN)
    body = [text(16, 26, f"{device}: rate of each stage, of a copy from its input to its output", 16, extra='font-weight="bold"')]
    for i, (memory, form) in enumerate(series):
        body.append(f'<rect x="{16 + 150 * i}" y="40" width="12" height="12" fill="{COLOURS[i % len(COLOURS)]}"/>')
        body.append(text(34 + 150 * i, 51, f"{memory}, {form}"))
    for j, title in enumerate(titles):
        y = TOP + GAP + j * line
        body.append(text(LABELS - 10, y + len(series) * BAR / 2 + 4, title, 12, "end"))
    for k, size in enumerate(sizes):
        x0 = LABELS + k * (PANEL + 2 * MARGIN)
        body.append(text(x0 + PANEL / 2, TOP - 12, f"{size} × {size}", 13, "middle", 'font-weight="bold"'))
        body += axis(x0, height, top)
        body.append(text(x0 + PANEL / 2, TOP + height + 36, "fraction of the copy's rate (1: as fast as a copy)", 11, "middle"))
        for j, title in enumerate(titles):
            cells = {(row["memory"], row["form"]): row for row in rows if row["title"] == title and row["size"] == size}
            body += bars(cells, series, x0, TOP + GAP + j * line, top)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{TOP + height + BOTTOM}" '
            f'font-family="DejaVu Sans, sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(body) + "\n</svg>\n")
