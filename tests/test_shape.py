"""What keeps the package as it is meant to be: where numba may be, what kernels import, what start-up costs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trecpy
from trecpy.protocol import COMPATS
from trecpy.registry import catalogue, nicknames

PACKAGE = Path(trecpy.__file__).parent
KERNELS = sorted((PACKAGE / "kernels").glob("*.py"))
OTHERS = sorted(set(PACKAGE.rglob("*.py")) - set(KERNELS))
SHARED_BY_KERNELS = {"trecpy.kernels._jit", "trecpy.kernels.dtypes", "trecpy.kernels.strings"}


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("file", OTHERS, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_numba_is_only_in_kernels(file: Path) -> None:
    assert not [name for name in _imports(file) if name.split(".")[0] in ("numba", "llvmlite")]


@pytest.mark.parametrize("file", [file for file in KERNELS if file.name[0] != "_"], ids=lambda file: file.name)
def test_a_kernel_takes_in_nothing_of_other_files_but_strings(file: Path) -> None:
    """Machine code is kept by the text of the kernel's file and of those it takes kernels from, and by nothing else."""
    assert {name for name in _imports(file) if name.startswith("trecpy")} <= SHARED_BY_KERNELS


def test_classes_that_every_command_loads_are_cheap_to_make() -> None:
    """What makes a dataclass frozen, comparable and printable takes half a millisecond of each start."""
    code = (
        "import sys; from trecpy.cli.trec_eval import main; main(sys.argv[1:])\n"
        "for name, module in sorted(sys.modules.items()):\n"
        "    for each in vars(module).values() if name.startswith('trecpy') else ():\n"
        "        if isinstance(each, type) and each.__module__ == name and hasattr(each, '__dataclass_params__'):\n"
        "            params = each.__dataclass_params__\n"
        "            if params.frozen or params.eq or params.repr: print('class', each.__name__, file=sys.stderr)"
    )
    files = [str(PACKAGE.parent / "data_fixtures" / name) for name in ("example.qrels", "example.run")]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, timeout=300, check=True)
    costly = {line.split()[1] for line in done.stderr.splitlines() if line.startswith("class ")}
    assert costly == {"Counts", "Cutoffs", "Gains", "OptionalCutoffs", "Protocol"}


@pytest.mark.parametrize("file", OTHERS + KERNELS, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_nothing_prints(file: Path) -> None:
    names = [node.func.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Name)]  # fmt: skip
    assert "print" not in names


@pytest.mark.parametrize("arguments", [["-v"], ["-h"], ["-x"], ["-m", "nonsense"], ["one"]])
def test_numba_is_not_loaded_before_it_is_needed(arguments: list[str]) -> None:
    code = (
        "import sys; from trecpy.cli.trec_eval import main; main(sys.argv[1:]); sys.exit('numba' in sys.modules and 99)"
    )
    loaded = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, timeout=300, check=False)
    assert loaded.returncode == 0


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["--version"], ["nonsense"], ["eval", "--help"], ["eval", "one"]]
)
def test_numpy_is_not_loaded_for_help(arguments: list[str]) -> None:
    code = "import sys; from trecpy.cli.main import main; main(sys.argv[1:]); sys.exit('numpy' in sys.modules and 99)"
    loaded = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, timeout=300, check=False)
    assert loaded.returncode == 0


def test_public_names_are_listed() -> None:
    assert sorted(trecpy.__all__) == trecpy.__all__
    assert dir(trecpy) == trecpy.__all__
    assert all(hasattr(trecpy, name) for name in trecpy.__all__)


ORDER = """
    runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P relstring recall infAP
    gm_bpref Rprec_mult utility 11pt_avg binG G dcg ideal_dcg ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success
    set_P set_relative_P set_recall set_map set_F num_nonrel_judged_ret prefs_num_prefs_poss prefs_num_prefs_ful
    prefs_num_prefs_ful_ret prefs_simp prefs_pair prefs_avgjg prefs_avgjg_Rnonrel prefs_simp_ret prefs_pair_ret
    prefs_avgjg_ret prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp prefs_avgjg_imp map_avgjg P_avgjg
    Rprec_mult_avgjg yaap rbp rbp_resid unj
"""


def test_measures_are_in_the_order_of_printing() -> None:
    assert [name for name, each in catalogue().items() if each.known_to("10.0")] == ORDER.split()


def test_nicknames() -> None:
    sizes = {"official": 12, "set": 11, "prefs": 8, "all_prefs": 16, "qrels_jg": 5}
    for compat in COMPATS:
        found = {name: len(members) for name, members in nicknames(compat).items()}
        assert found == {**sizes, "all_trec": 37 if compat == "10.0" else 34}


def test_measures_of_which_less_is_better() -> None:
    lower = {name for name, each in catalogue().items() if not each.higher_is_better}
    assert lower == {"num_nonrel_judged_ret", "rbp_resid", "unj", "first_rel_rank"}
