"""Images and files, which the formats write in different ways."""

from __future__ import annotations

import re

from memwell.transcripts.fields import ELSEWHERE, Fields, refusal

_DATA = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
PDF = "application/pdf"


def to_image_url(block: Fields, place: str) -> Fields:
    """An image as OpenAI writes it."""
    return {"type": "image_url", "image_url": {"url": _url(block, place)}}


def to_file(block: Fields, place: str) -> Fields:
    """A document as OpenAI writes it."""
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        raise refusal(place, "only a document with its data can be a file of OpenAI", ELSEWHERE)
    return {"type": "file", "file": {"filename": block.get("title") or "document", "file_data": _url(block, place)}}


def _url(block: Fields, place: str) -> str:
    match block.get("source"):
        case {"type": "url", "url": str(url)}:
            return url
        case {"type": "base64", "media_type": str(kind), "data": str(data)}:
            return f"data:{kind};base64,{data}"
    raise refusal(place, f"what OpenAI takes as {block['type']} has a URL or data", ELSEWHERE)


def to_image(part: Fields, place: str) -> Fields:
    """An image as Anthropic writes it."""
    held = part.get("image_url")
    url = held.get("url") if isinstance(held, dict) else held
    if not isinstance(url, str):
        raise refusal(place, "the image has no URL", 'give {"image_url": {"url": ...}}')
    return {"type": "image", "source": _source(url)}


def to_document(part: Fields, place: str) -> Fields:
    """A file as Anthropic writes it."""
    match part.get("file"):
        case {"file_data": str(url), **rest} if (found := _DATA.fullmatch(url)) and found[1] == PDF:
            title = rest.get("filename")
            return {"type": "document", "source": _source(url), **({"title": title} if title else {})}
    raise refusal(place, "only a PDF with its data can be a document of Anthropic", ELSEWHERE)


def _source(url: str) -> Fields:
    data = _DATA.fullmatch(url)
    return {"type": "base64", "media_type": data[1], "data": data[2]} if data else {"type": "url", "url": url}
