#!/bin/sh
# Checks that this machine has the programs a command needs. This is the one list of programs and Debian packages.
#
#   check.sh run         what `make run`, `make check`, `make build` and the other targets with a compiler need
#   check.sh fuzz        what `make fuzz` needs: also a C++ compiler
#   check.sh test        what `make test` needs: also a browser and the languages of the receivers
#   check.sh containers  what `make sam` needs: also Docker, or podman and runc
#   check.sh chromium    prints the path of the browser
#
# As root on Debian it installs what is missing and says so first. Otherwise it names everything that is missing at once
# and exits with status 1. It is plain sh, because a bare machine has no Python.
# shellcheck disable=SC2016  # backquotes in messages mark commands
set -eu

MAC_CHROME='/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

main() {
  case ${1:-} in
    run | fuzz | test | containers) ;;
    chromium) browser || { say 'chromium is missing: run `sh tests/machine/check.sh test`.'; exit 1; }; return ;;
    *) say "usage: check.sh run | fuzz | test | containers | chromium"; exit 2 ;;
  esac
  look "$1"
  if [ -n "$packages" ] && [ "$(id -u)" -eq 0 ] && has apt-get; then
    install_packages
    look "$1"
  fi
  [ -z "$note" ] || say "$note"
  [ -z "$packages$advice" ] || refuse
}

# Sets `packages` (what apt-get can install), `advice` (sentences about everything else) and `note` (no reason to stop).
look() {
  packages='' advice='' note=''
  case $1 in
    run) compiler ;;
    fuzz)
      compiler
      need c++ g++
      ;;
    test)
      compiler
      receivers
      need curl curl
      browser >/dev/null || want chromium
      ;;
    containers)
      compiler
      containers
      ;;
  esac
}

compiler() {
  need make make
  need cc gcc libc6-dev
  need strip binutils
  need python3 python3 python3-venv
  if has python3; then
    python3 -c 'import ensurepip, venv' 2>/dev/null || want python3-venv
    recent python3 'Python 3.11' -c 'import sys; sys.exit(sys.version_info < (3, 11))'
  fi
  if ! has cargo; then
    advise "cargo is missing: install Rust with rustup (https://rustup.rs), which then fetches the version in rust-toolchain.toml:
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
    [ ! -x "${HOME:-}/.cargo/bin/cargo" ] || advise 'rustup is installed, but not on the PATH: run `. ~/.cargo/env` in this shell.'
  fi
}

receivers() {
  need node nodejs
  need npm npm
  need php php-cli
  need ruby ruby
  recent node 'Node.js 18' -e 'process.exit(Number(parseInt(process.versions.node) < 18))'
  recent php 'PHP 8.0' -r 'exit((int) (PHP_VERSION_ID < 80000));'
  recent ruby 'Ruby 3.0' -e 'exit RUBY_VERSION.to_i >= 3'
}

# Prints the path of the browser.
browser() {
  if [ -n "${CHROMIUM:-}" ]; then
    echo "$CHROMIUM"
  else
    command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable ||
      { [ -x "$MAC_CHROME" ] && echo "$MAC_CHROME"; }
  fi
}

containers() {
  if docker_answers; then return; fi
  need podman podman
  need runc runc
  [ "$(id -u)" -eq 0 ] || note='Note: without Docker, `sam local` runs as root only.'
}

# A Docker daemon that hangs counts as missing.
docker_answers() {
  has docker || return 1
  if has timeout; then timeout 20 docker info; else docker info; fi >/dev/null 2>&1
}

# Debian keeps some programs in /usr/sbin, which is not on every user's PATH.
has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }

# need PROGRAM PACKAGE...
need() {
  program=$1
  shift
  has "$program" || want "$@"
}

want() { packages="$packages $*"; }

advise() { advice="$advice$1
"; }

# recent PROGRAM VERSION ARGUMENT...: with these arguments the program exits with 0 if it has the version or a later one.
recent() {
  program=$1 version=$2
  shift 2
  if has "$program" && ! "$program" "$@" >/dev/null 2>&1; then
    advise "$program is too old: install $version or later."
  fi
}

install_packages() {
  say "This machine lacks programs. Installing with apt-get:$packages"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086  # a list of packages
  { apt-get --quiet update && apt-get --quiet install --yes --no-install-recommends $packages; } >&2 ||
    { say "apt-get failed. The reasons are above."; exit 1; }
}

refuse() {
  [ -z "$packages" ] || say "This machine lacks programs. On Debian, run as root:
  apt-get install$packages"
  [ -z "$advice" ] || printf '%s' "$advice" >&2
  exit 1
}

say() { echo "$1" >&2; }

main "$@"
