"""
Names of columns as people write them, in the dialects of trec_eval, pytrec_eval, ir_measures and ranx, to columns.

    map   ndcg_cut_10   ndcg_cut.5,10   P_5   official          trec_eval and pytrec_eval
    AP   nDCG@10   RR   R@1000   P(rel=2)@5   Success@1          ir_measures
    mrr   ndcg@10   precision@10   hit_rate@5                    ranx and others

Letters count in either case where that is unambiguous.
"""

import ast
import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from trecpy.errors import MeasureError, ParameterError
from trecpy.protocol import Compat
from trecpy.registry import (
    NO_PARAMETERS,
    Aggregate,
    Column,
    Cutoffs,
    LevelGains,
    Measure,
    Points,
    RealList,
    Request,
    catalogue,
    columns,
    nicknames,
)
from trecpy.text import described, quoted, shown

# Other people's names, folded: without a cutoff, and with one.
_WHOLE = {
    "ap": "map", "mrr": "recip_rank", "rr": "recip_rank", "reciprocal_rank": "recip_rank", "rprec": "Rprec",
    "r_precision": "Rprec", "numret": "num_ret", "numrel": "num_rel", "numrelret": "num_rel_ret", "numq": "num_q",
    "gmap": "gm_map", "setap": "set_map", "setp": "set_P", "setr": "set_recall", "setrelp": "set_relative_P",
    "setf": "set_F", "f1": "set_F", "precision": "set_P", "idcg": "ideal_dcg", "hits": "num_rel_ret",
    "judged": "Judged", "accuracy": "Accuracy", "rbp": "RBP", "ndcg": "ndcg", "dcg": "dcg", "ndcg_burges": "ndcg",
}  # fmt: skip
_AT = {
    "ap": "map_cut", "map": "map_cut", "ndcg": "ndcg_cut", "p": "P", "precision": "P", "prec": "P", "r": "recall",
    "recall": "recall", "success": "success", "hit_rate": "success", "hitrate": "success", "hit": "success", "rr": "RR",
    "mrr": "RR", "recip_rank": "RR", "iprec": "iprec_at_recall", "relative_p": "relative_P", "unj": "unj",
    "err": "ERR", "judged": "Judged", "accuracy": "Accuracy", "dcg": "DCG", "hits": "hits", "f1": "F1",
    "ndcg_burges": "ndcg_cut",
}  # fmt: skip
# How ir_measures writes measures that have options.
_IR_NAMES = {
    "map": "AP", "map_cut": "AP", "P": "P", "recall": "R", "success": "Success", "recip_rank": "RR", "RR": "RR",
    "Rprec": "Rprec", "bpref": "Bpref", "infAP": "infAP", "iprec_at_recall": "IPrec", "set_P": "SetP",
    "set_relative_P": "SetP", "set_recall": "SetR", "set_map": "SetAP", "set_F": "SetF", "ndcg": "nDCG",
    "ndcg_cut": "nDCG", "dcg": "DCG", "DCG": "DCG", "num_rel": "NumRel", "num_rel_ret": "NumRet", "RBP": "RBP",
    "Accuracy": "Accuracy", "hits": "hits", "F1": "F1", "ERR": "ERR", "first_rel_rank": "first_rel_rank",
}  # fmt: skip
_IR_WITH_OPTIONS = {"num_ret": "NumRet", "num_rel_ret": "NumRet(rel=1)", "set_relative_P": "SetP(relative=True)"}
_OF_GAIN = ("ndcg", "ndcg_cut", "dcg", "DCG")  # these have no relevance level
_DIALECT = re.compile(r"^(?P<name>[^@()]+?)(?:\((?P<options>.*)\))?(?:@(?P<cutoff>[^@()]+))?$")
_RANX_LEVEL = re.compile(r"-l([0-9]+)(?=@|$)")  # precision-l2@5, precision@5-l2


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
    return column.measure.name, column.parameter, column.own


def parse_name(name: object, compat: Compat) -> list[Column]:
    """The columns that one name, or one measure object of ir_measures, stands for."""
    if not isinstance(name, str) and not hasattr(name, "NAME"):
        raise MeasureError(f"measures: expected a name or a measure of ir_measures, found {described(name)}")
    text = str(name).strip()
    own = text.partition(".")[0]
    if own in catalogue() and not catalogue()[own].offered(compat):
        raise MeasureError(f"measures: {quoted(text)} is not known{_near(text, compat)}")
    for spelled in (text, _folded(text, compat)):
        if (found := _own(spelled, compat)) is not None:
            return found
    if (found := _dialect(text, compat)) is not None:
        return found
    raise MeasureError(f"measures: {quoted(text)} is not known{_near(text, compat)}")


def one_mean(name: object, compat: Compat) -> Column:
    """The column of a name that stands for one whose summary is a mean over topics. Raises MeasureError: of others."""
    columns = parse_name(name, compat)
    if len(columns) != 1 or columns[0].measure.aggregate is not Aggregate.MEAN:
        found = f"{len(columns)} columns" if len(columns) != 1 else f"its {columns[0].measure.aggregate.value}"
        raise MeasureError(f"{name}: expected one measure that is averaged over topics, found {found}")
    return columns[0]


def spellings(measure: Measure) -> dict[str, list[str]]:
    """
    The names of a measure, by who writes them: trec_eval (as -m takes them), pytrec_eval (as columns are printed),
    ir_measures, and others. Where it has a cutoff, that is 10.
    """
    kind = measure.parameters
    cutoff = "0.1" if measure.name == "iprec_at_recall" else "10" if isinstance(kind, Cutoffs) else ""
    theirs = measure.since != "trecpy"
    found: dict[str, list[str]] = {"trec_eval": [], "pytrec_eval": [], "ir_measures": [], "others": []}
    if theirs:
        found["trec_eval"].append(f"{measure.name}.{cutoff}" if cutoff else measure.name)
        found["pytrec_eval"] += [each.name for each in measure.columns(cutoff or None, "10.0")[:1]]
    at = f"@{cutoff}" if cutoff else ""
    ir_names = _IR_NAMES | _IR_WITH_OPTIONS
    if measure.name in ir_names or not theirs:
        found["ir_measures"].append(ir_names.get(measure.name, measure.name) + at)
    aliases = [f"{alias}{at}" for alias, target in (_AT if cutoff else _WHOLE).items() if target == measure.name]
    known = {name.lower() for names in found.values() for name in names}
    found["others"] = [alias for alias in aliases if alias not in known]
    return found


def _own(text: str, compat: Compat) -> list[Column] | None:
    """NAME, NAME.PARAMETERS, a nickname, or a printed name like P_5."""
    measures = catalogue()
    name, dot, given = text.partition(".")
    if (dot and not given) or re.fullmatch(r"rbp\.[0-9]+", text):  # ranx writes its persistence so
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
        if isinstance(kind, Cutoffs) and not re.fullmatch(r"[0-9]{1,18}(,[0-9]{1,18})*", parameter):
            return None
        listed = isinstance(kind, RealList) and re.fullmatch(r"-?[0-9][0-9.,-]*", parameter)
        if isinstance(kind, Cutoffs | Points) or listed or (isinstance(kind, LevelGains) and "=" in parameter):
            return measures[base].columns(parameter, compat)
    return None


def _folded(text: str, compat: Compat) -> str:
    """The same name in the letters in which it is known, where only one is like it."""
    head = re.match(r"[A-Za-z0-9_]*?(?=(?:_[0-9.]+)?$|\.)", text)
    base = head[0] if head else text
    known = [name for name in [*catalogue(), *nicknames(compat)] if name.lower() == base.lower()]
    return known[0] + text[len(base) :] if len(known) == 1 else text


def _dialect(text: str, compat: Compat) -> list[Column] | None:
    bare, levels = _RANX_LEVEL.subn("", text)
    match = _DIALECT.match(bare if levels == 1 else text)
    if match is None:
        return None
    name, cutoff = match["name"].lower().replace("-", "_"), match["cutoff"]
    options = _options(text, match["options"])
    if levels == 1:
        options.setdefault("rel", int(_RANX_LEVEL.findall(text)[0]))
    if name == "ndcg_burges":  # ranx's name of the exponential gain
        options.setdefault("dcg", "exp-log2")
    if ranx_rbp := re.fullmatch(r"rbp(\.[0-9]+)", name):
        name, options = "rbp", {"p": float(ranx_rbp[1]), **options}
    measures = catalogue()
    target = (_AT if cutoff is not None else _WHOLE).get(name)
    if target is None:
        folded = [known for known in measures if known.lower() == name]
        with_cutoff = [known for known in folded if isinstance(measures[known].parameters, Cutoffs)]
        target = next(iter(folded if cutoff is None else with_cutoff), None)
    if name == "numret" and "rel" in options:
        target = "num_rel_ret"
    if name == "setp" and options.pop("relative", False):
        target = "set_relative_P"
    if target is None or target not in measures or not measures[target].offered(compat):
        return None
    number = r"[0-9]*\.?[0-9]+" if target == "iprec_at_recall" else r"[0-9]{1,18}"
    if cutoff is not None and not re.fullmatch(number, cutoff):
        raise ParameterError(f"measures: {quoted(text)}: expected a number behind the @, found {quoted(cutoff)}")
    own, parameter = _own_conventions(text, target, options)
    found = measures[target].columns(cutoff or parameter, compat)
    if not own:
        return found
    spelled = ", ".join(f"{name}={_spelled(value)}" for name, value in options.items() if value not in (False, "log2"))
    name = _IR_NAMES[target]
    return [replace(each, name=f"{name}({spelled}){_at(each)}", own=own) for each in found]


def _own_conventions(text: str, target: str, options: dict[str, Any]) -> tuple[tuple[tuple[str, Any], ...], str | None]:
    """The fields of the protocol that options in brackets set, and a parameter. Raises ParameterError."""
    own: dict[str, Any] = {}
    parameter = None
    for option, value in options.items():
        match option, value:
            case (("rel" | "min_rel"), int() | float()) if target not in (*_OF_GAIN, "ERR"):
                own["relevance_level"] = value
            case (("rel" | "min_rel"), _) if target in (*_OF_GAIN, "ERR"):
                raise ParameterError(f"measures: {quoted(text)}: {target} has no relevance level")
            case "judged_only", bool():
                if value:
                    own["judged_only"] = True
            case "dcg", "log2" if target in _OF_GAIN:
                own["gains"] = "level"
            case "dcg", "exp-log2" if target in _OF_GAIN:
                own["gains"] = "exp"
            case "gains", dict() if target in _OF_GAIN:
                own["gains"] = tuple(sorted(value.items()))
            case "max_grade", int() if target == "ERR":
                own["max_grade"] = value
            case "beta", int() | float() if target == "set_F":
                parameter = f"{value:g}" if value != 1 else None
            case "p", float() if target == "RBP":
                parameter = repr(value)
            case _:
                raise ParameterError(f"measures: {quoted(text)}: {target} has no option {option}={_spelled(value)}")
    if own.get("gains") == "level":
        del own["gains"]
    if own and target not in _IR_NAMES:
        raise ParameterError(f"measures: {quoted(text)}: {target} has no options")
    return tuple(sorted(own.items())), parameter


def _spelled(value: object) -> str:
    return repr(value)


def _at(column: Column) -> str:
    """The cutoff of a column as ir_measures writes it."""
    return f"@{column.parameter}" if isinstance(column.measure.parameters, Cutoffs | Points) and column.given else ""


def _options(text: str, options: str | None) -> dict[str, Any]:
    """name=value, ... with values of Python: what stands in brackets. Raises ParameterError."""
    if not options or not options.strip():
        return {}
    try:
        call = ast.parse(f"_({options})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ParameterError(
            f"measures: {quoted(text)}: expected (rel=LEVEL) or the like, found ({shown(options)})"
        ) from None


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
