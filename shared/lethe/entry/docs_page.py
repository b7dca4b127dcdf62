"""The API's description as a page, self-contained: nothing is fetched from elsewhere."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from lethe.entry.openapi import document_text

_ASSETS: Final = "aws_lambda_powertools.event_handler.openapi.swagger_ui"


@cache
def page() -> str:
    """Swagger UI (as Powertools carries it) over the document, both inline."""
    assets = files(_ASSETS)
    style = assets.joinpath("swagger-ui.min.css").read_text("utf-8")
    script = assets.joinpath("swagger-ui-bundle.min.js").read_text("utf-8")
    # "</" inside a script element would end it, also within a string.
    description = document_text().replace("</", "<\\/")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Lethe API</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<style>{style}</style></head><body><div id='api'></div><script>{script}</script>"
        f"<script>SwaggerUIBundle({{spec: {description}, dom_id: '#api', deepLinking: true}})</script></body></html>"
    )
