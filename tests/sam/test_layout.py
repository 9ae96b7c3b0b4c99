"""Tests of the list of code that runs, which the linker puts together (docs/decisions/0069)."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "profiles"))

import layout  # noqa: E402

# What callgrind writes, shortened: `inbox` calls a library and itself.
COUNTS = """\
version: 1
creator: callgrind-3.19.0
cmd:  /target/release/inbox
ob=(1) /usr/lib/ld.so
fl=(1) ???
fn=(1) _dl_start
0 5
ob=(2) /target/release/inbox
fn=(2) (below main)
0 3
cfn=(3) _RNvCs4E_5inbox4main
calls=1 0
0 90
fn=(3)
0 7
cob=(3) /usr/lib/libc.so.6
cfn=(4) malloc
calls=2 0
0 30
cfn=(5) _RNvCs9aZ_4core4noneNtB2_1A
fn=(6) _RNvCs4E_5store4walk.77'2
0 9
fn=(7) 0x00000000001f6ac0
0 1
ob=(3)
fn=(4)
0 30
"""


def test_the_list_has_what_ran_in_a_program_and_not_what_ran_in_libraries():
    program, names = layout.executed(COUNTS)
    assert program == "inbox"
    assert names == {"_RNvCs4E_5inbox4main", "_RNvCs4E_5store4walk.77"}


def test_names_that_the_same_functions_execute_are_together_and_common_ones_come_first():
    runs = [
        ("inbox", {"everywhere", "inbox_1", "both_2", "both_1"}),
        ("leads", {"everywhere", "leads_1", "both_2", "both_1"}),
        ("inbox", {"inbox_0"}),
        ("users", {"everywhere", "a_users"}),
    ]
    assert layout.ordered(runs) == ["everywhere", "both_1", "both_2", "inbox_0", "inbox_1", "leads_1", "a_users"]


@pytest.mark.parametrize(
    "name, pattern",
    [
        ("_RNvCsjrHSBGnQ3l9_5inbox4main", "_RNvCs*_5inbox4main*"),
        ("_RNvMs0_NtNtCsjrHSEGnQ3l9_3std4timeNtB5_7Instant3now", "_RNvMs0_NtNtCs*_3std4timeNtB*_7Instant3now*"),
        ("_RNvMs0_NtNtCsjrHSEGnQ3l9_3std4timeNtB5_7Instant3now.5", "_RNvMs0_NtNtCs*_3std4timeNtB*_7Instant3now*"),
        # Generic code has its types, and may have the crate that compiled it.
        ("_RINvNtCs4E_4core3mem4dropNtNtBL_5store4WalkECsdf0_5inbox.llvm.77", "_RINvNtCs*_4core3mem4dropNtNtB*_5store4WalkE*"),
        ("_RINvNtCs4E_4core3mem4dropNtNtBL_5store4WalkEBL_", "_RINvNtCs*_4core3mem4dropNtNtB*_5store4WalkE*"),
        ("fe_loose_invert", "fe_loose_invert"),
        ("ring_core_0_17_14__x25519_fe_mul", "ring_core_*__x25519_fe_mul"),
    ],
)
def test_a_pattern_has_no_numbers_that_differ_between_builds(name, pattern):
    assert layout.pattern(name) == pattern


@pytest.mark.parametrize("function", sorted(path.name for path in (ROOT / "functions").iterdir()))
def test_the_list_has_the_start_of(function):
    package = function.replace("-", "_")
    start = f"_RNvCs*_{len(package)}{package}4main*"
    assert start in layout.LIST.read_text().splitlines(), "`make layout` writes the list"
