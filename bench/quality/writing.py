"""Writes the fitted models as the product's own module."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from lethe.domain.relevance import fitted
from lethe.domain.relevance.model import RelevanceModel

_HEAD: Final = '''"""The fitted models. Written by ``python -m bench.quality --write``; change nothing by hand."""

from typing import Final

from lethe.domain.relevance.model import CosineScale, GateWeights, RankWeights, RelevanceModel

DEFAULT_THRESHOLD: Final = 0.55
"""Relevance from which a memory is returned, unless the request says otherwise."""
'''
_TAIL: Final = '''
FITTED: Final = {"local/minilm-use@1": MINILM_USE, "local/use@1": USE}
"""Models by the label of the embedder that they were fitted on."""

OTHER: Final = replace(MINILM_USE, version="minilm-use-2-rescaled", scale=None)
"""For any other embedder: its cosines are read by their own spread (:func:`~.ranking.estimate_scale`)."""


def relevance_model(embedder: str | None) -> RelevanceModel:
    """The model for vectors with the label ``embedder``; ``None`` when a question has no vector."""
    return WORDS if embedder is None else FITTED.get(embedder, OTHER)
'''


def write_models(models: Mapping[str, RelevanceModel]) -> None:
    """Write ``fitted.py``; ``models`` are those of ``minilm-use``, ``use`` and ``words``."""
    blocks = [_HEAD.replace("from typing", "from dataclasses import replace\nfrom typing")]
    blocks.extend(_block(parts.upper().replace("-", "_"), model) for parts, model in models.items())
    Path(fitted.__file__).write_text("\n".join(blocks) + _TAIL, encoding="utf-8")


def _block(name: str, model: RelevanceModel) -> str:
    lines = [f"{name}: Final = RelevanceModel(", f'    version="{model.version}",']
    for part in ("rank", "gate", "reference", "scale"):
        value = getattr(model, part)
        lines.append(f"    {part}={type(value).__name__}(")
        lines.extend(f"        {f.name}={getattr(value, f.name):.4g}," for f in fields(value))
        lines.append("    ),")
    return "\n".join([*lines, ")", ""])
