"""A plan as one self-contained HTML page: a drawing of the fabric, its addresses, findings, versions and contract."""

from gpu_fabric.report.html.page import html_report

__all__ = ["html_report"]
