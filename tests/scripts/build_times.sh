#!/usr/bin/env bash
# scripts/build_times must sum the seconds of a log of ninja by folder, and fail where they exceed --limit.
#
#     build_times.sh PROJECT
set -uo pipefail

build_times=$1/scripts/build_times
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/build" "$work/empty"
failed=0
wrong() {
  printf 'build_times: %s\n' "$*"
  failed=1
}

# built START END OUTPUT: one command of the log, with its times in milliseconds.
built() { printf '%d\t%d\t1700000000\t%s\tabc\n' "$1" "$2" "$3" >>"$work/build/.ninja_log"; }
printf '# ninja log v5\n' >"$work/build/.ninja_log"
built 0 9000 relayout/core/CMakeFiles/relayout_core.dir/layout.cc.o # an earlier build, which does not count
built 0 1500 relayout/core/CMakeFiles/relayout_core.dir/layout.cc.o
built 1000 3000 relayout/core/CMakeFiles/relayout_core.dir/format.cc.o
built 0 4000 relayout/cpu/CMakeFiles/relayout_cpu.dir/kernels/simd.cc.o
built 500 1000 relayout/core/CMakeFiles/relayout_core.dir/cmake_pch.hxx.gch
built 5000 5300 tools/relayout

cat >"$work/expected" <<'TABLE'
 seconds  files  folder
     4.0      1  relayout/cpu/kernels
     3.5      2  relayout/core
     0.5      1  precompiled headers
     0.3      1  programs, libraries and the rest
     8.3      5  together

the slowest 2:
     4.0  relayout/cpu/CMakeFiles/relayout_cpu.dir/kernels/simd.cc.o
     2.0  relayout/core/CMakeFiles/relayout_core.dir/format.cc.o
TABLE
"$build_times" "$work/build" --slowest 2 --limit 9 >"$work/table" || wrong "--limit 9 fails with 8.3 seconds"
diff "$work/expected" "$work/table" || wrong "the table is another one"

"$build_times" "$work/build" --limit 8 >"$work/table" 2>"$work/errors" && wrong "--limit 8 passes with 8.3 seconds"
grep -q 'took 8.3 s, and --limit allows 8.0' "$work/errors" || wrong "--limit 8 says: $(cat "$work/errors")"
"$build_times" "$work/empty" 2>"$work/errors" && wrong "a folder without a log passes"

# A pipe whose reader has ended, as that of `| head` has.
exec 3> >(:)
wait "$!"
"$build_times" "$work/build" >&3 2>"$work/errors"
[[ ! -s $work/errors ]] || wrong "into a closed pipe it says: $(cat "$work/errors")"
exit "$failed"
