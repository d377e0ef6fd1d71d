"""What a fit leaves in ``uns``, and the way back from there to the question and the model.

Promises: everything is of a type that an h5ad file holds. What comes back is what was asked at the fit: where the object has
changed since (other genes, groups that are gone), or where a parameter was an object that no file holds, that is an error or
a warning, never another question in its place.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from .._anndata import labels_of, scverse_package
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from ..estimators.leading import leading
from ..fitted import SAME
from ..operators.representations.build import build
from ..operators.sources.chunks import project
from ..operators.statistics.blocks import divisor, sums_of_squares
from .keys import Keys, fitted_keys
from .parameters import model_of
from .question import Question, ask

STORABLE = (str, bool, int, float, np.ndarray, np.generic)
OWN = ("groupby", "layer", "mask_var", "use_rep")  # of params: not the model's
WITHOUT_EFFECT = ("verbose", "random_state")  # on the question; objects are not kept


# --- to uns -------------------------------------------------------------------------------------------------------------


def results(model: BoundedTransformer, question: Question, n_vars: int) -> dict[str, Any]:
    """All that a fit keeps in ``uns``."""
    found = {
        "lambdas": model.lambdas_,
        "bounds": model.bounds_,
        "background_names": np.array(model.background_names_, dtype=object),
        "eigenvalues": model.eigenvalues_,
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "background_variance": model.background_variance_,
        "expected_background_variance": model.expected_background_variance_,
        "rows_used": model.rows_used_,
        "certificate": asdict(model.certificate_) | {"status": str(model.certificate_.status)},  # plain text, for files
        "representation": model.representation_,
        "solver": model.solver_,
        "params": parameters(model, question),
        "groups": question.table(),
        "leading_genes": leading_table(model, question.features),
        "genes": _mask(question, n_vars),
    }
    if question.use_rep is not None:  # whose columns have no place in varm
        found |= {
            "components": model.components_.T,
            "patterns": model.patterns_.T,
            "correlations": None if model.pattern_correlations_ is None else model.pattern_correlations_.T,
        }
    return {name: value for name, value in found.items() if value is not None}  # a file holds no None


def parameters(model: BoundedTransformer, question: Question) -> dict[str, Any]:
    """Parameters as types that a file can hold: what is None is left out, objects are named in ``not_kept``."""
    given: dict[str, Any] = {name: getattr(question, name) for name in OWN} | model.get_params()
    if not isinstance(given["bound"], (str, int, float)):
        given["bound"] = model.bounds_
    kept = {name: value for name, value in given.items() if isinstance(value, STORABLE) and name != "verbose"}
    objects = [name for name, value in given.items() if value is not None and not isinstance(value, STORABLE)]
    lost = [name for name in objects if name not in WITHOUT_EFFECT]
    return kept | ({"not_kept": np.array(lost, dtype=object)} if lost else {})


def leading_table(model: BoundedTransformer, names: Array) -> Any:
    """The leading features of each component: name, sign, and share of the score's variance in the target."""
    records = [
        (part.component, name, "+" if rises else "-", share)
        for part in leading(model, names.tolist())
        for name, rises, share in zip(part.names, part.rises, part.shares, strict=True)
    ]
    frame = scverse_package("pandas").DataFrame(records, columns=["component", "gene", "sign", "share"])
    return frame.set_axis(frame.index.astype(str), axis=0)


def _mask(question: Question, n_vars: int) -> Array | None:
    """Which genes were used, (n_vars,); None where none were."""
    if question.use_rep is not None:
        return None
    mask = np.zeros(n_vars, dtype=bool)
    mask[slice(None) if question.columns is None else question.columns] = True
    return mask


# --- and back -----------------------------------------------------------------------------------------------------------


def restore(adata: Any, key: str) -> tuple[Keys, Question, BoundedTransformer]:
    """The question of a fit, and its model with the same parameters, not fitted."""
    keys = fitted_keys(adata, key)
    stored = adata.uns[keys.uns]
    given = {name: _plain(value) for name, value in stored["params"].items()}
    if lost := given.pop("not_kept", None):
        raise ValueError(
            f"the fit was made with {', '.join(map(str, lost))} as an object, which adata does not keep: ask anew, with "
            "groupby, target, backgrounds and the parameters of the fit"
        )
    own = {name: given.pop(name) for name in OWN if name in given}
    if "use_rep" not in own:
        own["mask_var"] = genes_of_fit(adata, keys)
    groups = _groups(adata, stored["groups"], str(own["groupby"]))
    question = ask(adata, **{name: value for name, value in own.items() if name != "groupby"}, **groups)
    n_components = given.pop("n_components")
    return keys, question, model_of(given, n_components)


def _plain(value: Any) -> Any:
    """Python's own types, for what a file gives as those of numpy."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def genes_of_fit(adata: Any, keys: Keys) -> Any:
    """The mask of the fit, None for all genes; that genes are the same is checked where that can be seen."""
    used, weights = np.asarray(adata.uns[keys.uns]["genes"], dtype=bool), adata.varm.get(keys.varm)
    if weights is None or len(used) != adata.n_vars or np.any(np.asarray(weights)[~used]):
        raise ValueError("adata does not have the genes of the fit any more: fit again with uca.scverse.uca")
    return None if used.all() else used


def check_unchanged(adata: Any, keys: Keys, question: Question, rows: Any) -> None:
    """Raise where the target, in memory, does not vary along the components as it did at the fit: X is another one."""
    stored = adata.uns[keys.uns]
    params, table = stored["params"], stored["groups"]
    n_cells = int(table.loc[(table["role"] == "target").to_numpy(), "n_cells"].sum())
    if not params["center"] or params["missing"] == "em" or n_cells != rows.shape[0]:
        return  # other sums, or other cells, of which a warning has told
    scaled = str(params["scale"]) != "False"
    standard = build([rows], ["target X"], representation="implicit", center=True, scale=scaled).standards[0]
    weights = stored["components"] if question.use_rep is not None else adata.varm[keys.varm]
    weights = np.asarray(weights, dtype=float)[slice(None) if question.columns is None else question.columns]
    scores = project(rows, standard.mean, weights * standard.factor[:, np.newaxis])
    now, then = sums_of_squares(scores) / divisor(len(scores)), np.asarray(stored["variance"], dtype=float)
    if not np.allclose(now, then, rtol=SAME, atol=SAME * then.max()):
        raise ValueError(
            f"adata has changed since the fit: the variance of the target along UC1 was {then[0]:.6g} and is {now[0]:.6g}. "
            "Fit again with uca.scverse.uca"
        )


def _groups(adata: Any, table: Any, groupby: str) -> dict[str, Any]:
    """Target and backgrounds of the fit by the values that the column has now."""
    labels = labels_of(adata, groupby)
    by_text = {str(value): value for value in labels.unique()}
    target: list[Any] = []
    backgrounds: dict[str, list[Any]] = {}
    changed = []
    for role, name, group, n in table[["role", "name", "group", "n_cells"]].astype(str).itertuples(index=False):
        if group not in by_text:
            raise ValueError(f"adata.obs[{groupby!r}] has no cell of group {group!r} any more: fit again")
        (target if role == "target" else backgrounds.setdefault(name, [])).append(by_text[group])
        now = int((labels == by_text[group]).sum())
        if now != int(n):
            changed.append(f"{group!r} had {n} and has {now}")
    if changed:
        warnings.warn(
            f"groups have other numbers of cells than at the fit ({'; '.join(changed)}): what follows speaks of the cells "
            "that adata has now",
            UserWarning,
            stacklevel=4,
        )
    return {"groupby": groupby, "target": target, "backgrounds": backgrounds}


def asked(
    adata: Any, key: str, question: Mapping[str, Any], n_comps: int | None, given: Mapping[str, Any]
) -> tuple[Keys, Question, BoundedTransformer]:
    """The question of a fit, or the one that is given: then groupby, target and backgrounds, and what a fit takes."""
    named = {name: value for name, value in question.items() if value is not None}
    if not named:
        if given:
            raise ValueError(
                f"{', '.join(given)}: read from the fit {key!r}. To ask another question, give groupby, target and "
                "backgrounds as well"
            )
        keys, found, model = restore(adata, key)
        return keys, found, model if n_comps is None else model.set_params(n_components=n_comps)
    if len(named) < len(question):
        raise ValueError(f"give all of {', '.join(question)}, or none of them, to take those of the fit {key!r}")
    data = {name: given[name] for name in ("layer", "mask_var", "use_rep") if name in given}
    rest = {name: value for name, value in given.items() if name not in data and name != "n_components"}
    return Keys.of(key), ask(adata, **named, **data), model_of(rest, n_comps, given.get("n_components"))
