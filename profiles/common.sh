#!/bin/sh
# Prints the compiler's options that the recording and the build have in common, for an architecture of AWS (x86_64 or arm64).
set -eu
# cargo-lambda would choose the same processors, but cargo ignores its choice as soon as RUSTFLAGS is set.
case $1 in
  x86_64) processor=haswell ;;
  arm64) processor=neoverse-n1 ;;
  *) echo "There is no architecture $1 (x86_64 or arm64)." >&2; exit 1 ;;
esac
# The older form of names has a number in place of the types of generic code, so a list of names could not tell one type's code
# from another's.
echo "-Ctarget-cpu=$processor -Csymbol-mangling-version=v0"
