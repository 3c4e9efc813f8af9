"""A plan as one HTML page that needs nothing else: the fabric drawn, its addresses, findings, versions, contract."""

from fabric.report_html.page import html_report

__all__ = ["html_report"]
