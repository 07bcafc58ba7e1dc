#!/bin/sh
# Makes sure that what the build needs is there; installs Debian packages where they are missing.
#   scripts/setup.sh                 what every build needs
#   scripts/setup.sh pages           also a browser, for the tests of pages
#   scripts/setup.sh instructions    also valgrind, which counts instructions
#   scripts/setup.sh java            also Java, for Spark
set -eu

need() { # need COMMAND PACKAGE...
    command=$1
    shift
    command -v "$command" >/dev/null 2>&1 && return
    if command -v apt-get >/dev/null 2>&1; then
        echo "installing $* (for $command)" >&2
        if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
        $sudo apt-get update -qq
        $sudo apt-get install -y -qq "$@" >/dev/null
    else
        echo "error: $command is missing; install it and run again" >&2
        exit 1
    fi
}

need cc build-essential
need python3 python3 python3-venv
python3 -c 'import ensurepip' 2>/dev/null || need python3-venv-is-missing python3-venv
if ! command -v cargo >/dev/null 2>&1; then
    echo "error: cargo is missing; install Rust from https://rustup.rs and run again" >&2
    exit 1
fi
case "${1-}" in
pages)
    need chromium chromium
    need chromedriver chromium-driver
    ;;
instructions)
    need valgrind valgrind
    ;;
java)
    need java openjdk-17-jre-headless
    ;;
esac
