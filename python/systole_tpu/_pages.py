"""Pages for notebooks and files."""

from __future__ import annotations

import base64
import html
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


def framed(page: str) -> str:
    """A page in a frame of a notebook, so that its style and that of the notebook stay apart."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:640px;border:0"></iframe>'


@dataclass(frozen=True)
class Picture:
    """A picture in both themes; a notebook shows the one that suits."""

    #: SVG, for light pages.
    svg: str
    #: SVG, for dark pages.
    dark_svg: str

    def _repr_html_(self) -> str:
        light, dark = (f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" for svg in (self.svg, self.dark_svg))
        source = f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        return f'<picture>{source}<img src="{light}" style="max-width:100%" alt="picture of a trace"></picture>'

    def __repr__(self) -> str:
        return f"<systole_tpu.Picture: {len(self.svg)} bytes of SVG>"
