"""The chart: an SVG of horizontal bars, a panel for each workload, readable on light and dark."""

from html import escape

from workloads import VARIANTS

WIDTH, MARGIN, GAP = 960, 24, 32
PANEL = (WIDTH - 2 * MARGIN - GAP) // 2
ROW, TITLE, LABEL, VALUE = 22, 46, 128, 64
TOP, BOTTOM = 76, 40

STYLE = """
  .page { fill: #ffffff } text { font: 12px system-ui, sans-serif; fill: #3c4450 }
  .head { font-size: 20px; font-weight: 600; fill: #14181f }
  .title { font-size: 13px; font-weight: 600; fill: #14181f } .note { fill: #6b7482 }
  .bar { fill: #b9c2cf } .floor { fill: #8a94a3 } .ours { fill: #c8501e } .variant { fill: #e9a583 }
  .strong { font-weight: 600; fill: #14181f } .base { stroke: #d5dae1 } .mark { stroke: #8a94a3 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181f } text { fill: #b4bdc9 } .head, .title, .strong { fill: #f2f4f7 }
    .note { fill: #8a94a3 } .bar { fill: #465161 } .floor { fill: #6b7788 } .ours { fill: #f07b43 }
    .variant { fill: #96573a } .base { stroke: #343c48 } .mark { stroke: #6b7788 }
  }
"""

UNITS = {
    "cpu": ("server_cpu_us", "CPU µs a request, less is better", "{:.2f}"),
    "rate": ("rate", "requests a second, more is better", "{:,.0f}"),
    "p99": ("p99", "99 % of the fast requests within … ms, less is better", "{:.2f}"),
}


def draw(results, labels):
    """The chart of all workloads in `results`, as text."""
    panels = [
        panel
        for name, found in results["workloads"].items()
        if found["medians"] and (panel := Panel(name, found, labels))
    ]
    body, bottoms = [], [TOP, TOP]
    for panel in panels:
        column = 0 if bottoms[0] <= bottoms[1] else 1
        body.append(panel.draw(MARGIN + column * (PANEL + GAP), bottoms[column]))
        bottoms[column] += panel.height + 14
    height = max(bottoms) + BOTTOM
    machine = escape(results.get("machine", ""))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label="Stepwell beside its peers">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>\n'
        f'<text class="head" x="{MARGIN}" y="38">Stepwell beside its peers</text>\n'
        f'<text class="note" x="{MARGIN}" y="58">One core for the server, another for the load '
        f"generator; the servers take turns; medians of {results['rounds']} rounds.</text>\n"
        + "".join(body)
        + f'<text class="note" x="{MARGIN}" y="{height - 18}">{machine}</text>\n</svg>\n'
    )


class Panel:
    """One workload: a title, what is shown, and a bar for each server, best on top."""

    def __init__(self, name, found, labels):
        self.title = found["title"]
        key, self.unit, self.format = UNITS[found["measure"]]
        scale = 1000 if key == "p99" else 1
        values = {server: figures[key] / scale for server, figures in found["medians"].items()}
        self.rows = sorted(values.items(), key=lambda row: row[1], reverse=key == "rate")
        self.labels = labels
        self.height = TITLE + ROW * len(self.rows)

    def draw(self, left, top):
        most = max(value for _, value in self.rows) or 1
        room = PANEL - LABEL - VALUE
        lines = [
            f'<text class="title" x="{left}" y="{top + 16}">{escape(self.title)}</text>\n',
            f'<text class="note" x="{left}" y="{top + 33}">{escape(self.unit)}</text>\n',
        ]
        for number, (server, value) in enumerate(self.rows):
            y, width = top + TITLE + number * ROW, max(room * value / most, 1)
            strong = ' class="strong"' if server == "stepwell" else ""
            text = self.format.format(value)
            lines.append(
                f'<text{strong} x="{left}" y="{y + 12}">{escape(self.labels[server])}</text>'
                f'<rect class="{kind(server)}" x="{left + LABEL}" y="{y}" width="{width:.1f}" '
                f'height="16" rx="2"/>'
                f'<text{strong} x="{left + LABEL + width + 6:.1f}" y="{y + 12}">{text}</text>\n'
            )
        x, bottom = left + LABEL - 0.5, top + TITLE + len(self.rows) * ROW - 4
        lines.append(f'<path class="base" d="M{x} {top + TITLE - 2}V{bottom}"/>\n')
        floor = dict(self.rows).get("floor")
        if floor:
            x = left + LABEL + room * floor / most
            path = f"M{x:.1f} {top + TITLE - 2}V{bottom}"
            lines.append(f'<path class="mark" stroke-dasharray="2 3" d="{path}"/>\n')
        return "".join(lines)


def kind(server):
    """The class of a server's bar."""
    if server in VARIANTS:
        return "variant"
    return {"stepwell": "ours", "floor": "floor", "threads": "floor"}.get(server, "bar")
