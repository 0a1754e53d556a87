"""What `trec_eval -h` prints, made from the measures' own documentation."""

import textwrap
from collections.abc import Sequence

from trecpy import __version__
from trecpy.protocol import Compat
from trecpy.registry import Measure, nicknames

USAGE = """\
Usage: trec_eval [options] QRELS RUN
       trec_eval -h                      all options, formats and measures
       trec_eval -h -m MEASURE           one measure: formula, parameters, range, source"""

_OPTIONS = """\
Scores RUN, a ranked list of documents for each topic, by the judgements in QRELS, and prints each measure's name, the
topic (or 'all'), and its value, as NIST's trec_eval {compat} does.

Examples
  trec_eval qrels.txt run.txt                          the official measures, over the topics of both files
  trec_eval -c -m ndcg_cut.10 -m map qrels.txt run.txt two measures, over all judged topics
  trec_eval -q -m P.5,10 qrels.txt run.txt             each topic too
  trec_eval -c qrels.gz - < run.zst                    compressed files; a run from standard input

Options
  -m, --measure NAME[.PARAMS]         a measure or set of measures; may be repeated (default: official)
  -q, --query_eval_wanted             print each topic's values before the summary
  -n, --nosummary                     do not print the summary
  -c, --complete_rel_info_wanted      average over all judged topics; a topic that RUN lacks scores 0
  -l, --level_for_rel N               documents of level N or above are relevant (default 1)
  -J, --Judged_docs_only              drop documents without a judgement (level >= 0) from rankings
  -M, --Max_retrieved_per_topic N     keep the first N documents of each ranking
  -N, --Number_docs_in_coll N         documents in the collection (default 0); only utility asks for it
  -R, --Rel_info_format FORMAT        qrels (default), qrels_jg, prefs or qrels_prefs
  -T, --Results_format FORMAT         trec_results
  -Z, --Zscore FILE                   print z-scores by the means and standard deviations in FILE
  -D, --Debug_level N.TOPIC           score only TOPIC (traces are not printed)
  -o                                  accepted for old scripts; no effect
  -h, --help   -v, --version
  --compat 10.0|9.0.8                 generation of trec_eval to follow (default 10.0, or what TRECPY_COMPAT says)
  --threads N                         threads to read and rank with (default: the cores that may be used)
Long names may be cut short where that is unambiguous, except --compat and --threads.

Files
  RUN     topic iter docno rank score tag. Documents are ranked by score, largest first, and by docno, largest byte
          first, where scores are equal; iter and rank are not used. '-' is standard input (10.0).
  QRELS   qrels        topic iter docno level
          qrels_jg     topic group docno level
          prefs        topic group subgroup docno level
          qrels_prefs  topic group docno level
  FILE    topic measure mean stddev
  Each may be compressed: gzip, bzip2, xz or zstandard, told by its first bytes.
  Columns are separated by blanks or tabs; ids are bytes and never decoded. In 10.0 lines that begin with '#' are
  comments.

Exit codes
  0 scored   1 options   2 files, measures' parameters   4 a topic cannot be scored   7 nothing to score   255 FILE"""


def help_text(chosen: Sequence[Measure], named: bool, measures: Sequence[Measure], compat: Compat) -> str:
    """The whole help, or what is known of the chosen measures where -m named them."""
    if named:
        return "\n\n".join(describe(each, compat) for each in chosen)
    sets = "\n".join(_entry(name, " ".join(members)) for name, members in nicknames(compat).items())
    listed = "\n".join(_entry(each.name, each.title) for each in measures)
    return (
        f"trec_eval: trecpy {__version__}\n\n{USAGE}\n\n{_OPTIONS.format(compat=compat)}\n\n"
        f"Measures (-h -m NAME explains one)\n{listed}\n\nSets of measures\n{sets}"
    )


def _entry(name: str, text: str) -> str:
    """A name and its text in two columns."""
    return textwrap.fill(text, 100, initial_indent=f"  {name:<25} ", subsequent_indent=" " * 28, break_long_words=False)


def describe(measure: Measure, compat: Compat) -> str:
    """One measure: its documentation, its defaults, its aggregate, the sets that it is in."""
    belongs = [name for name, members in nicknames(compat).items() if measure.name in members]
    lines = [measure.name, *("  " + line if line else "" for line in measure.doc.splitlines())]
    lines.append(f"  Defaults  {measure.parameters.text}")
    lines.append(f"  Summary   {measure.aggregate.value}")
    if not measure.higher_is_better:
        lines.append("  Better    lower")
    lines.append(f"  In sets   {' '.join(belongs) or 'none'}")
    return "\n".join(lines)
