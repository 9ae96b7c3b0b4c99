#!/bin/sh
# Prints the option that names the processor to the compiler, for an architecture of AWS (x86_64 or arm64). cargo-lambda would
# choose the same ones, but cargo ignores its choice as soon as RUSTFLAGS is set.
set -eu
case $1 in
  x86_64) echo -Ctarget-cpu=haswell ;;
  arm64) echo -Ctarget-cpu=neoverse-n1 ;;
  *) echo "There is no architecture $1 (x86_64 or arm64)." >&2; exit 1 ;;
esac
