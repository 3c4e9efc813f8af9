"""The picture of README.md: the drawing of the HTML report of the development stack, with the report's own styles.

`make docs` writes it again.
"""

import re
from pathlib import Path

from stack_plans import stack_plan

from gpu_fabric.plan import Plan
from gpu_fabric.report.html import html_report

ROOT = Path(__file__).parents[2]
# Rules of the page that are about the drawing, for a screen in light and dark.
_STYLES = re.compile(
    r"^(:root \{.*?^\}|@media screen and .*?^\}|svg [^\n]*|\.fabric [^\n]*)$", re.MULTILINE | re.DOTALL
)


def picture(plan: Plan) -> str:
    """The drawing as an SVG file of its own, on a ground of its own, since a page around it may be dark or light."""
    page = html_report(plan)
    drawing = re.search(r'<svg id="fabric-drawing" viewBox="0 0 (\d+) (\d+)" ([^>]*)>\n(.*?)</svg>', page, re.DOTALL)
    sheet = re.search(r"<style[^>]*>(.*?)</style>", page, re.DOTALL)
    assert drawing is not None
    assert sheet is not None
    width, height, attributes, content = drawing.groups()
    styles = "\n".join(_STYLES.findall(sheet[1]))
    box = f"-16 -8 {int(width) + 32} {int(height) + 24}"
    attributes = re.sub(r' (width|height)="\d+"', "", attributes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {attributes}>\n'
        f"<style>\n{styles}\nsvg {{ font-family: system-ui, sans-serif; background: var(--page); }}\n</style>\n"
        f"{content}</svg>\n"
    )


if __name__ == "__main__":
    print(picture(stack_plan("dev", ROOT)), end="")
