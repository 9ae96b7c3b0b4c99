#!/bin/sh
# Prints what RUSTFLAGS must contain for an architecture of AWS (x86_64 or arm64), so that the compiler knows the processor, uses
# the profile and does not warn about code that changed since. cargo compiles again if the options change, and not if a file
# changes. So the options name a copy of the profile by its checksum.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
processor=$(sh "$here/processor.sh" "$1")
profile=$here/$1.profdata
folder=$(mkdir -p "${CARGO_TARGET_DIR:-target}/profiles" && cd "${CARGO_TARGET_DIR:-target}/profiles" && pwd)
sum=$(cksum "$profile")
copy=$folder/$1-${sum%% *}.profdata
[ -e "$copy" ] || { cp "$profile" "$copy.new" && mv "$copy.new" "$copy"; }
echo "$processor -Cprofile-use=$copy -Cllvm-args=-no-pgo-warn-mismatch"
