"""
Options as GNU getopt_long takes them, one at a time.

The standard library's getopt reads all options before any can take effect; trec_eval acts on each as it comes, so that
`-v` ends it before a later mistake is seen, and of two mistakes the first is reported.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from trecpy.errors import UsageError
from trecpy.text import quoted

Item = tuple[str, str | None]


def read_options(
    arguments: Sequence[str], short: Mapping[str, str], long: Mapping[str, bool], own: Sequence[str], files: list[str]
) -> Iterator[Item]:
    """
    Yield (long name, value or None) for each option, in order; append other arguments to `files`.

    short: letter -> long name. long: name -> takes a value; any unambiguous beginning of a name will do.
    own: names that take a value, are only recognised spelled out, and make no beginning of another name ambiguous.

    Raises UsageError: an option that is not known, is ambiguous, lacks its value, or has one that it does not take.
    """
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            files += rest
            return
        if argument.startswith("--"):
            yield _long(argument[2:], long, own, rest)
        elif argument.startswith("-") and argument != "-":
            yield from _cluster(argument[1:], short, long, rest)
        else:
            files.append(argument)
            if "POSIXLY_CORRECT" in os.environ:
                files += rest
                return


def _long(text: str, long: Mapping[str, bool], own: Sequence[str], rest: list[str]) -> Item:
    name, equals, value = text.partition("=")
    if name not in own:
        matches = [name] if name in long else [known for known in long if known.startswith(name)]
        if not matches:
            raise UsageError(f"unrecognized option {quoted('--' + name)}")
        if len(matches) > 1:
            options = " ".join(f"'--{match}'" for match in matches)
            raise UsageError(f"option {quoted('--' + text)} is ambiguous; possibilities: {options}")
        name = matches[0]
    if name not in own and not long[name]:
        if equals:
            raise UsageError(f"option '--{name}' doesn't allow an argument")
        return name, None
    if equals:
        return name, value
    if not rest:
        raise UsageError(f"option '--{name}' requires an argument")
    return name, rest.pop(0)


def _cluster(text: str, short: Mapping[str, str], takes_value: Mapping[str, bool], rest: list[str]) -> Iterator[Item]:
    """The options of one argument like -qcn or -mmap."""
    while text:
        letter, text = text[0], text[1:]
        if letter not in short:
            raise UsageError(f"invalid option -- {quoted(letter)}")
        name = short[letter]
        # -o is the one letter that takes no value where its long name does.
        if letter == "o" or not takes_value[name]:
            yield name, None
            continue
        if not text and not rest:
            raise UsageError(f"option requires an argument -- '{letter}'")
        yield name, text or rest.pop(0)
        return
