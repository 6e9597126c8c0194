"""The XML of buckets, with what could blow up a parser refused before it is parsed."""

from xml.etree import ElementTree

from smarter.fetch.errors import FetchError


def parsed(body: bytes, host: str) -> ElementTree.Element:
    """The root, with the namespaces taken off all names. Without declarations there are no entities to expand."""
    if b"<!" in body:
        raise FetchError("bad_answer", f"the answer of {host} holds declarations that it has no need of")
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - declarations, the dangerous part, were refused above
    except (ElementTree.ParseError, ValueError):
        raise FetchError("bad_answer", f"the answer of {host} is not XML") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def text_of(element: ElementTree.Element, name: str) -> str:
    """The text of the first child of this name, at any depth; empty without one."""
    found = element.find(f".//{name}")
    return (found.text or "") if found is not None else ""
