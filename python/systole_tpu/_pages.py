"""Pages for notebooks and files."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

#: The style of small pages, light and dark.
STYLE = """
:root { color-scheme: light dark; --line: light-dark(#d0d5dd, #3a3f4b); --soft: light-dark(#596273, #a2abbb); }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem; color: light-dark(#1c2330, #e4e8ef); background: light-dark(#fff, #16181d); }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .2rem; }
.about { color: var(--soft); margin: .2rem 0 .6rem; max-width: 60rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.short { white-space: nowrap; }
th { font-weight: 600; color: var(--soft); white-space: nowrap; }
"""


#: Enlarges each picture at the pointer with the wheel, moves it with a drag, and shows the whole of it after a double click.
_ZOOM = """
for (const svg of document.querySelectorAll("body > div > svg")) {
const whole = svg.getAttribute("viewBox").split(/[ ,]+/).map(Number);
let [x, y, w, h] = whole;
const show = () => svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
const scale = () => w / svg.getBoundingClientRect().width;
svg.addEventListener("wheel", event => {
  event.preventDefault();
  const box = svg.getBoundingClientRect();
  const [across, down] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  const width = Math.min(whole[2], Math.max(whole[2] / 1000, w * Math.exp(event.deltaY / 400)));
  const height = width * whole[3] / whole[2];
  [x, y, w, h] = [x + across * (w - width), y + down * (h - height), width, height];
  show();
}, { passive: false });
svg.addEventListener("pointerdown", event => svg.setPointerCapture(event.pointerId));
svg.addEventListener("pointermove", event => {
  if (!svg.hasPointerCapture(event.pointerId)) return;
  [x, y] = [x - event.movementX * scale(), y - event.movementY * scale()];
  show();
});
svg.addEventListener("dblclick", () => { [x, y, w, h] = whole; show(); });
}
"""


def framed(page: str, height: str = "height:640px") -> str:
    """A page in a frame of a notebook, so that its style and that of the notebook stay apart."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width:100%;{height};border:0"></iframe>'


@dataclass(frozen=True)
class Picture:
    """A picture in both themes. A notebook shows the one that suits. Where it runs scripts, the wheel enlarges the picture, a
    drag moves it, and a double click shows the whole of it.

    >>> run.timeline().svg[:4]
    '<svg'
    """

    #: SVG, for light pages.
    svg: str
    #: SVG, for dark pages.
    dark_svg: str

    def html(self) -> str:
        """A page of its own, which loads nothing from the network.

        >>> run.timeline().html()[:15]
        '<!doctype html>'
        """
        # Without scripts, the style alone chooses the picture.
        style = (
            "body { margin: 0; } svg { display: block; width: 100%; height: auto; cursor: grab; touch-action: none; } #dark { display: none; } "
            "@media (prefers-color-scheme: dark) { #light { display: none; } #dark { display: block; } }"
        )
        pictures = f'<div id="light">{self.svg}</div><div id="dark">{self.dark_svg}</div>'
        title = "<title>A picture of a trace</title>"
        return f'<!doctype html><html lang="en"><meta charset="utf-8">{title}<style>{style}</style><body>{pictures}<script>{_ZOOM}</script></body></html>'

    def _repr_html_(self) -> str:
        # As high as the picture is at any width of the cell.
        width, height = (_side(self.svg, side) for side in ("width", "height"))
        return framed(self.html(), f"aspect-ratio:{width}/{height}") if width and height else framed(self.html())

    def __repr__(self) -> str:
        return f"<systole_tpu.Picture: {len(self.svg)} bytes of SVG>"


def _side(svg: str, side: str) -> str | None:
    """The width or height of a picture."""
    found = re.search(rf'<svg[^>]*\b{side}="([0-9.]+)"', svg)
    return found and found.group(1)
