"""Writes the numbering plans of all countries, from the Python package `phonenumbers`, which follows Google's libphonenumber.

    numbering.py            writes the plans that the installed package has (`make numbering` installs the newest one first)
    numbering.py --check    says how old the plans are, and whether they are those of the installed package

Files: src/numbering/plans.in, a table in Rust, and src/numbering/examples.txt, a number of each kind of each plan for the tests.
"""

import datetime
import importlib.metadata
import pathlib
import re
import sys

from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata

FOLDER = pathlib.Path(__file__).parent / "src" / "numbering"
PLANS = FOLDER / "plans.in"
EXAMPLES = FOLDER / "examples.txt"
HEADER = re.compile(r"// libphonenumber (\S+), written on (\d{4}-\d{2}-\d{2})\n")

# Upstream publishes every two or three weeks, and a range of numbers takes months to be given out.
OLD = datetime.timedelta(days=90)

KINDS = [
    "mobile", "fixed_line", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager", "uan", "voicemail",
]


def main():
    if sys.argv[1:] == ["--check"]:
        print(age(datetime.date.today()))
        sys.exit(difference())
    PLANS.write_text(f"// libphonenumber {version()}, written on {datetime.date.today()}\n" + table())
    EXAMPLES.write_text(examples())


def version():
    return importlib.metadata.version("phonenumbers")


def age(today):
    """A sentence about the committed plans."""
    written = HEADER.match(PLANS.read_text())
    days = today - datetime.date.fromisoformat(written[2])
    advice = ": run `make numbering`" if days > OLD else ""
    return f"The numbering plans are those of libphonenumber {written[1]}, {days.days} days old{advice}."


def difference():
    """Why the committed plans are not those of the installed package, or None."""
    written, content = PLANS.read_text().split("\n", 1)
    if f" {version()}," not in written or content != table() or EXAMPLES.read_text() != examples():
        return f"The numbering plans are not those of phonenumbers {version()}: run functions/leads/numbering.py."
    return None


def plans():
    """The plans of each country calling code, the main country's first."""
    for code, regions in sorted(COUNTRY_CODE_TO_REGION_CODE.items()):
        if regions == ("001",):
            yield code, [PhoneMetadata.metadata_for_nongeo_region(code)]
        else:
            yield code, [PhoneMetadata.metadata_for_region(region) for region in regions]


def given_out(plan):
    kinds = [getattr(plan, kind) for kind in KINDS]
    return [kind for kind in kinds if kind is not None and kind.national_number_pattern is not None]


def table():
    """A slice of calling codes, each with its plans."""
    lines = ["&["]
    for code, of_code in plans():
        lines.append(f'("{code}", &[')
        for plan in of_code:
            lines += [f"Plan {{ all: {kind(plan.general_desc)}, given_out: &["]
            # Many plans cannot tell mobiles from fixed lines, and have the same pattern twice.
            lines += dict.fromkeys(f"    {kind(found)}," for found in given_out(plan))
            lines += ["]},"]
        lines.append("]),")
    return "\n".join([*lines, "]"]) + "\n"


def kind(found):
    lengths = ", ".join(str(length) for length in found.possible_length if length > 0)
    pattern = "".join(found.national_number_pattern.split())
    return f'Kind {{ lengths: &[{lengths}], pattern: r"{pattern}" }}'


def examples():
    lines = {
        f"+{code}{found.example_number}"
        for code, of_code in plans()
        for plan in of_code
        for found in given_out(plan)
        if found.example_number
    }
    return "\n".join(sorted(lines)) + "\n"


if __name__ == "__main__":
    main()
