"""
Names of columns as people write them, in the dialects of trec_eval, pytrec_eval, ir_measures and ranx, to columns.

    map   ndcg_cut_10   ndcg_cut.5,10   P_5   official          trec_eval and pytrec_eval
    AP   nDCG@10   RR   R@1000   P(rel=2)@5   Success@1          ir_measures
    mrr   ndcg@10   precision@10   hit_rate@5                    ranx and others

Letters count in either case where that is unambiguous.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import replace

from trecpy.errors import MeasureError, ParameterError
from trecpy.protocol import Compat
from trecpy.registry import NO_PARAMETERS, Column, Cutoffs, LevelGains, Points, Request, catalogue, columns, nicknames
from trecpy.text import quoted

# Other people's names, folded: without a cutoff, and with one.
_WHOLE = {
    "ap": "map", "mrr": "recip_rank", "rr": "recip_rank", "reciprocal_rank": "recip_rank", "rprec": "Rprec",
    "r-precision": "Rprec", "numret": "num_ret", "numrel": "num_rel", "numrelret": "num_rel_ret", "numq": "num_q",
    "gmap": "gm_map", "setap": "set_map", "setp": "set_P", "setr": "set_recall", "setrelp": "set_relative_P",
    "setf": "set_F", "f1": "set_F", "precision": "set_P", "recall": "set_recall", "idcg": "ideal_dcg",
}  # fmt: skip
_AT = {
    "ap": "map_cut", "map": "map_cut", "ndcg": "ndcg_cut", "p": "P", "precision": "P", "prec": "P", "r": "recall",
    "recall": "recall", "success": "success", "hit_rate": "success", "hitrate": "success", "hit": "success", "rr": "RR",
    "mrr": "RR", "recip_rank": "RR", "iprec": "iprec_at_recall", "relative_p": "relative_P", "unj": "unj",
}  # fmt: skip
# How ir_measures writes measures that have a relevance level.
_IR_NAMES = {
    "map": "AP", "map_cut": "AP", "P": "P", "recall": "R", "success": "Success", "recip_rank": "RR", "RR": "RR",
    "Rprec": "Rprec", "bpref": "Bpref", "infAP": "infAP", "iprec_at_recall": "IPrec", "set_P": "SetP",
    "set_recall": "SetR", "set_F": "SetF", "num_rel": "NumRel",
}  # fmt: skip
_DIALECT = re.compile(r"^(?P<name>[^@()]+?)(?:\((?P<options>[^()]*)\))?(?:@(?P<cutoff>.+))?$")


def parse_names(names: object, compat: Compat) -> list[Column]:
    """
    The columns that names stand for, in the order of printing, each once.

    names: one name, or several; measure objects of ir_measures are taken by their text

    Raises MeasureError: a name that is not known. ParameterError: a cutoff below 1.
    """
    wanted: dict[tuple[str, int | None], Column] = {}
    for name in [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names):
        for column in [name] if isinstance(name, Column) else parse_name(str(name), compat):
            key = column.name, column.level
            if key not in wanted or column.given:
                wanted[key] = column
    if not wanted:
        raise MeasureError("measures: expected at least one, found none")
    order = {name: place for place, name in enumerate(catalogue())}
    return sorted(wanted.values(), key=lambda column: order[column.measure.name])


def parse_name(text: str, compat: Compat) -> list[Column]:
    """The columns that one name stands for."""
    text = text.strip()
    found = _own(text, compat)
    if found is None:
        found = _own(_folded(text, compat), compat)
    if found is None:
        found = _dialect(text, compat)
    if found is None:
        raise MeasureError(f"measures: {quoted(text)} is not known{_near(text, compat)}")
    return found


def _own(text: str, compat: Compat) -> list[Column] | None:
    """NAME, NAME.PARAMETERS, a nickname, or a printed name like P_5."""
    measures = catalogue()
    name, dot, given = text.partition(".")
    if dot and not given:
        return None
    # A measure of our own that has cutoffs needs one: RR alone is ir_measures' name of recip_rank.
    whole = name in measures and (measures[name].since != "trecpy" or dot or measures[name].parameters is NO_PARAMETERS)
    if whole and measures[name].offered(compat):
        return measures[name].columns(given if dot else None, compat)
    if name in nicknames(compat):
        return columns([Request(name)], compat)
    base, _, parameter = text.rpartition("_")
    if base in measures and measures[base].offered(compat) and parameter:
        kind = measures[base].parameters
        if isinstance(kind, Cutoffs) and not re.fullmatch(r"[0-9]+(,[0-9]+)*", parameter):
            return None
        if isinstance(kind, Cutoffs | Points | LevelGains):
            return measures[base].columns(parameter, compat)
    return None


def _folded(text: str, compat: Compat) -> str:
    """The same name in the letters in which it is known, where only one is like it."""
    head = re.match(r"[A-Za-z0-9_]*?(?=(?:_[0-9.]+)?$|\.)", text)
    base = head[0] if head else text
    known = [name for name in [*catalogue(), *nicknames(compat)] if name.lower() == base.lower()]
    return known[0] + text[len(base) :] if len(known) == 1 else text


def _dialect(text: str, compat: Compat) -> list[Column] | None:
    match = _DIALECT.match(text)
    if match is None:
        return None
    name, cutoff = match["name"].lower(), match["cutoff"]
    target = (_AT if cutoff is not None else _WHOLE).get(name)
    measures = catalogue()
    if target is None and cutoff is None and match["options"] is not None:
        target = next((known for known in measures if known.lower() == name), None)
    if target is None or target not in measures or not measures[target].offered(compat):
        return None
    if cutoff is not None and target != "iprec_at_recall" and not re.fullmatch(r"[0-9]+", cutoff):
        raise ParameterError(f"{text}: expected a cutoff, an integer >= 1, found {quoted(cutoff)}")
    found = measures[target].columns(cutoff, compat)
    level = _level(text, match["options"])
    if level is None:
        return found
    if target not in _IR_NAMES:
        raise ParameterError(f"{text}: {target} has no relevance level")
    return [replace(each, name=_IR_NAMES[target] + f"(rel={level})" + _at(each), level=level) for each in found]


def _at(column: Column) -> str:
    """The cutoff of a column as ir_measures writes it."""
    return f"@{column.parameter}" if column.parameter is not None else ""


def _level(text: str, options: str | None) -> int | None:
    """The relevance level in (rel=2); other options are not known here."""
    if not options:
        return None
    match = re.fullmatch(r"\s*(?:rel|min_rel)\s*=\s*([0-9]+)\s*", options)
    if match is None:
        raise ParameterError(f"{text}: expected (rel=LEVEL), found ({options})")
    return int(match[1])


def _near(text: str, compat: Compat) -> str:
    known = {name.lower(): name for name in [*catalogue(), *nicknames(compat)]}
    known |= {f"{name}@": f"{name}@10" for name in _AT} | {name: name for name in _WHOLE}
    close = difflib.get_close_matches(re.sub(r"[@.].*", "", text).lower(), known, 3, 0.6)
    return "; near it are " + ", ".join(known[key] for key in close) if close else ""
