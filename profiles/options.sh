#!/bin/sh
# Prints what RUSTFLAGS must contain for an architecture of AWS (x86_64 or arm64): the compiler knows the processor, uses the
# profile, does not warn about code that changed since and does not inline without a limit, and the linker puts the code that runs
# together.
#
# cargo compiles again if the options change or the profile is newer, and not if the linker's script changes. So the options name
# copies of the files by checksums, and a copy that is there stays as it is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
common=$(sh "$here/common.sh" "$1")
folder=$(mkdir -p "${CARGO_TARGET_DIR:-target}/profiles" && cd "${CARGO_TARGET_DIR:-target}/profiles" && pwd)

# Stores the input as a file named $1-CHECKSUM.$2, unless it is there, and prints its path.
store() {
  cat >"$folder/new.$$"
  sum=$(cksum <"$folder/new.$$")
  copy=$folder/$1-${sum%% *}.$2
  if [ -e "$copy" ]; then rm "$folder/new.$$"; else mv "$folder/new.$$" "$copy"; fi
  echo "$copy"
}

# A linker's script: all code in one section, first what is called often, then what the list names, then the rest. The compiler
# puts functions that it takes to be rare under .text.unlikely, also those of the list.
script() {
  echo 'SECTIONS { .text : {'
  echo '*(.text.hot.*)'
  sed 's/.*/*(.text.& .text.unlikely.&)/' "$here/executed.txt"
  echo '*(.text .text.*)'
  echo '} } INSERT AFTER .eh_frame;'
}

profile=$(store "$1" profdata <"$here/$1.profdata")
layout=$(script | store layout ld)
# The cost-benefit analysis inlines large code wherever it is called often, and ignores the size of its rare blocks. Without it,
# SHA-256 is in a program once, and not 25 times with 10 KB each.
inlining=-Cllvm-args=-inline-enable-cost-benefit-analysis=false
echo "$common -Cprofile-use=$profile -Cllvm-args=-no-pgo-warn-mismatch $inlining -Clink-arg=-T$layout"
