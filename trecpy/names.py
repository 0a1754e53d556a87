"""
Names of columns as people write them, in the dialects of trec_eval, pytrec_eval, ir_measures and ranx, to columns.

    map   ndcg_cut_10   ndcg_cut.5,10   P_5   official          trec_eval and pytrec_eval
    AP   nDCG@10   RR   R@1000   P(rel=2)@5   Success@1          ir_measures
    mrr   ndcg@10   precision@10   hit_rate@5                    ranx and others

Letters count in either case where that is unambiguous.
"""

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from trecpy.errors import MeasureError, ParameterError
from trecpy.protocol import Compat
from trecpy.registry import NO_PARAMETERS, Column, Cutoffs, LevelGains, Points, Request, catalogue, columns, nicknames
from trecpy.text import described, quoted, shown

# Other people's names, folded: without a cutoff, and with one.
_WHOLE = {
    "ap": "map", "mrr": "recip_rank", "rr": "recip_rank", "reciprocal_rank": "recip_rank", "rprec": "Rprec",
    "r-precision": "Rprec", "numret": "num_ret", "numrel": "num_rel", "numrelret": "num_rel_ret", "numq": "num_q",
    "gmap": "gm_map", "setap": "set_map", "setp": "set_P", "setr": "set_recall", "setrelp": "set_relative_P",
    "setf": "set_F", "f1": "set_F", "precision": "set_P", "idcg": "ideal_dcg",
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
    "set_recall": "SetR", "set_F": "SetF",
}  # fmt: skip
_DIALECT = re.compile(r"^(?P<name>[^@()]+?)(?:\((?P<options>[^()]*)\))?(?:@(?P<cutoff>.+))?$")


def parse_names(names: object, compat: Compat) -> list[Column]:
    """
    The columns that names stand for, in the order of printing, each once.

    names: one name, or several; measure objects of ir_measures are taken by their text

    Raises MeasureError: a name that is not known. ParameterError: a cutoff below 1.
    """
    wanted: dict[object, Column] = {}
    several = isinstance(names, Iterable) and not isinstance(names, str | bytes)
    for name in list(names) if several else [names]:  # type: ignore[call-overload]
        for column in [name] if isinstance(name, Column) else parse_name(name, compat):
            if key_of(column) not in wanted or column.given:
                wanted[key_of(column)] = column
    if not wanted:
        raise MeasureError("measures: expected at least one, found none")
    order = {name: place for place, name in enumerate(catalogue())}
    columns = sorted(wanted.values(), key=lambda column: order[column.measure.name])
    uses = Counter(column.name for column in columns)
    # Points that differ behind the second decimal are printed alike; here each has a name of its own.
    return [
        replace(column, name=f"{column.measure.name}_{column.parameter}") if uses[column.name] > 1 else column
        for column in columns
    ]


def key_of(column: Column) -> object:
    """What tells columns apart, whatever they are called."""
    return column.measure.name, column.parameter, column.level


def parse_name(name: object, compat: Compat) -> list[Column]:
    """The columns that one name, or one measure object of ir_measures, stands for."""
    if not isinstance(name, str) and not hasattr(name, "NAME"):
        raise MeasureError(f"measures: expected a name or a measure of ir_measures, found {described(name)}")
    text = str(name).strip()
    for spelled in (text, _folded(text, compat)):
        if (found := _own(spelled, compat)) is not None:
            return found
    if (found := _dialect(text, compat)) is not None:
        return found
    raise MeasureError(f"measures: {quoted(text)} is not known{_near(text, compat)}")


def _own(text: str, compat: Compat) -> list[Column] | None:
    """NAME, NAME.PARAMETERS, a nickname, or a printed name like P_5."""
    measures = catalogue()
    name, dot, given = text.partition(".")
    if dot and not given:
        return None
    # A measure of our own that has cutoffs needs one: RR alone is ir_measures' name of recip_rank.
    whole = name in measures and (measures[name].since != "trecpy" or dot or measures[name].parameters is NO_PARAMETERS)
    if whole and measures[name].offered(compat):
        kind = measures[name].parameters
        odd = kind.odd(os.fsencode(given).split(b",")) if dot else None
        if dot and (kind is NO_PARAMETERS or odd):
            why = odd.split(";")[0] if odd else f"{name} takes no parameters"
            raise ParameterError(f"measures: {quoted(text)}: {why}")
        return measures[name].columns(given if dot else None, compat)
    if name in nicknames(compat):
        if dot:
            raise ParameterError(f"measures: {quoted(text)}: a set of measures takes no parameters")
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
    number = r"[0-9]*\.?[0-9]+" if target == "iprec_at_recall" else r"[0-9]+"
    if cutoff is not None and not re.fullmatch(number, cutoff):
        raise ParameterError(f"measures: {quoted(text)}: expected a number behind the @, found {quoted(cutoff)}")
    found = measures[target].columns(cutoff, compat)
    level = _level(text, match["options"])
    if level is None:
        return found
    if target not in _IR_NAMES:
        raise ParameterError(f"measures: {quoted(text)}: {target} has no relevance level")
    return [replace(each, name=_IR_NAMES[target] + f"(rel={level})" + _at(each), level=level) for each in found]


def _at(column: Column) -> str:
    """The cutoff of a column as ir_measures writes it."""
    return f"@{column.parameter}" if column.parameter is not None else ""


def _level(text: str, options: str | None) -> int | None:
    """The relevance level in (rel=2); other options are not known here."""
    if not options:
        return None
    match = re.fullmatch(r"\s*(?:rel|min_rel)\s*=\s*([0-9]{1,20})\s*", options)
    if match is None:
        raise ParameterError(f"measures: {quoted(text)}: expected (rel=LEVEL), found ({shown(options)})")
    return int(match[1])


def _near(text: str, compat: Compat) -> str:
    if "," in text:
        return "; several measures are given as a list"
    base = text.partition(".")[0]
    if base in catalogue():
        return f" in trec_eval {compat}; it came with {catalogue()[base].since}"
    known = {name.lower(): name for name in [*catalogue(), *nicknames(compat)]}
    known |= {f"{name}@": f"{name}@10" for name in _AT} | {name: name for name in _WHOLE}
    close = difflib.get_close_matches(re.sub(r"[@.].*", "", text).lower(), known, 3, 0.6)
    return "; near it are " + ", ".join(known[key] for key in close) if close else ""
