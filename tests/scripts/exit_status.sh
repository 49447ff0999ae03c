#!/usr/bin/env bash
# scripts/test must fail where any of its steps fails, and pass only where the tests pass. The real script runs in a
# folder of its own, with programs in place of cmake and ctest that exit as they are told.
#
#     exit_status.sh PROJECT
set -uo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/scripts" "$work/programs" "$work/build/release"
cp "$1/scripts/test" "$1/scripts/lib.sh" "$work/scripts/"
touch "$work/build/release/skipped.txt"

# program PATH VARIABLE: a program that exits with the status that this variable of the environment holds.
program() {
  # shellcheck disable=SC2016  # the program expands the variable, not this script
  printf '#!/bin/sh\nexit "${%s:-0}"\n' "$2" >"$1"
  chmod +x "$1"
}
program "$work/scripts/install" INSTALL_STATUS
program "$work/scripts/python" PYTHON_STATUS
program "$work/programs/ctest" CTEST_STATUS
# cmake configures, or builds where its first argument says so.
cat >"$work/programs/cmake" <<'PROGRAM'
#!/bin/sh
if [ "$1" = --build ]; then exit "${BUILD_STATUS:-0}"; fi
exit "${CONFIGURE_STATUS:-0}"
PROGRAM
chmod +x "$work/programs/cmake"

failed=0
# expect STATUS VARIABLE=VALUE...: scripts/test ends with this status in this environment.
expect() {
  local expected=$1 status=0
  shift
  env "$@" PATH="$work/programs:$PATH" "$work/scripts/test" >"$work/log" 2>&1 || status=$?
  if [[ $status -ne $expected ]]; then
    printf 'scripts/test with %s ends with status %d instead of %d:\n' "$*" "$status" "$expected"
    cat "$work/log"
    failed=1
  fi
}
expect 0 CTEST_STATUS=0
expect 8 CTEST_STATUS=8
expect 1 BUILD_STATUS=1
expect 1 CONFIGURE_STATUS=1
expect 3 INSTALL_STATUS=3
expect 5 PYTHON_STATUS=5
exit "$failed"
