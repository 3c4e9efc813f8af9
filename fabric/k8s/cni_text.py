"""CNI configuration as the text fields of the SR-IOV operator's networks take it, each with the typed way to it.

The operator copies these texts between single quotes into a NetworkAttachmentDefinition.
"""

import json
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

from fabric.k8s.base import compact_json
from fabric.k8s.cni_config import ChainedPlugin, Ipam


def ipam_text(ipam: Ipam) -> str:
    """The text of an IPAM section."""
    return compact_json(ipam.to_dict())


def meta_plugins_text(plugins: Iterable[ChainedPlugin]) -> str:
    """The text of the plug-ins that work on the interface, in their order."""
    return ",".join(compact_json(plugin.to_dict()) for plugin in plugins)


def _json(field: str, text: str, form: str) -> object:
    if "'" in text:
        raise ValueError(f"{field} {text!r} holds a single quote, which would end the text that the operator writes")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{field} {text!r} is not {form}: {error}") from None


def _has_type(section: object) -> bool:
    return isinstance(section, dict) and isinstance(section.get("type"), str) and bool(section["type"].strip())


def _ipam(text: str) -> str:
    section = _json("ipam", text, "a JSON object")
    if not _has_type(section):
        raise ValueError(f"ipam {text!r} is not a JSON object with the name of a plug-in as its type")
    if json.loads("".join(text.split())) != section:
        raise ValueError(f"ipam {text!r} has a space inside a value: the operator takes all spaces out")
    return text


def _meta_plugins(text: str) -> str:
    if text.lstrip().startswith("["):
        raise ValueError(f"metaPlugins {text!r} is a JSON list: write the objects with commas and without brackets")
    plugins = _json("metaPlugins", text and f"[{text}]", "a list of JSON objects with commas")
    if not isinstance(plugins, list) or not plugins or not all(_has_type(plugin) for plugin in plugins):
        raise ValueError(f"metaPlugins {text!r}: every plug-in is a JSON object with its name as type")
    return text


def _capabilities(text: str) -> str:
    section = _json("capabilities", text, "a JSON object")
    if not isinstance(section, dict) or not all(isinstance(value, bool) for value in section.values()):
        raise ValueError(f"capabilities {text!r} is not a JSON object of true and false")
    return text


IpamText = Annotated[str, AfterValidator(_ipam)]
"""A JSON object, for example of `ipam_text`."""

MetaPluginsText = Annotated[str, AfterValidator(_meta_plugins)]
"""JSON objects with commas between them, for example of `meta_plugins_text`."""

CapabilitiesText = Annotated[str, AfterValidator(_capabilities)]
"""A JSON object of flags, for example `{"ips":true}`."""
