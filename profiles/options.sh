#!/bin/sh
# Prints what RUSTFLAGS must contain for a processor (x86_64 or arm64), so that the compiler uses its profile and does not warn
# about code that changed since. cargo compiles again if the options change, and not if a file changes. So the options name a
# copy of the profile by its checksum.
set -eu
profile=$(cd "$(dirname "$0")" && pwd)/$1.profdata
[ -r "$profile" ] || { echo "There is no profile for the architecture $1 (x86_64 or arm64)." >&2; exit 1; }
folder=$(mkdir -p "${CARGO_TARGET_DIR:-target}/profiles" && cd "${CARGO_TARGET_DIR:-target}/profiles" && pwd)
copy=$folder/$1-$(cksum < "$profile" | cut -d ' ' -f 1).profdata
[ -e "$copy" ] || { cp "$profile" "$copy.new" && mv "$copy.new" "$copy"; }
echo "-Cprofile-use=$copy -Cllvm-args=-no-pgo-warn-mismatch"
