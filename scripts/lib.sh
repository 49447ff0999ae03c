# shellcheck shell=bash
# Shared by the scripts beside it: where the project is, what it needs, how it is configured.
# Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
note() { printf '%s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# Debian and Ubuntu packages. The command needs the first list, the tests the second as well.
# shellcheck disable=SC2034  # used by the scripts that source this
build_packages=(g++ cmake ninja-build ccache pkg-config libhwy-dev libtbb-dev libcli11-dev libfmt-dev
  nlohmann-json3-dev libtomlplusplus-dev libpng-dev libjpeg-dev libzip-dev zlib1g-dev libssl-dev libonnx-dev
  libprotobuf-dev libdnnl-dev libxbyak-dev)
# shellcheck disable=SC2034
test_packages=(libgtest-dev libbenchmark-dev libeigen3-dev coinor-cbc python3 python3-dev python3-numpy python3-venv
  valgrind)
# An OpenCL driver for the CPU, what watches its kernels, and the headers that its numbers are compared with. Each is
# optional: the tests that need it are skipped.
# shellcheck disable=SC2034
opencl_packages=(ocl-icd-libopencl1 pocl-opencl-icd oclgrind opencl-c-headers)
# A browser, in which the pages of `relayout show` are tested, and what drives it; optional too.
# shellcheck disable=SC2034
browser_packages=(chromium chromium-driver python3-selenium)
# Compiles the library to WebAssembly for the fields of pages; a build goes on without it.
# shellcheck disable=SC2034
wasm_packages=(emscripten)
# What makes HTML of the documents for the site; optional too.
# shellcheck disable=SC2034
docs_packages=(python3-markdown-it)
# What is compared with, and the kernels' benchmark; HPTT is no package.
# shellcheck disable=SC2034
bench_packages=(libbenchmark-dev libeigen3-dev libtorch-dev)
fuzz_packages=(clang)
# What builds and runs for 64-bit Arm, and the libraries of that architecture.
# shellcheck disable=SC2034
arm64_packages=(g++-aarch64-linux-gnu qemu-user-static)
# shellcheck disable=SC2034
arm64_libraries=(libhwy-dev libhwy1 libgtest-dev libtbb-dev libtbb12 libtbbmalloc2 libtbbbind-2-5)
# Python's packages of Debian that the tests of checkpoints use where they are there, beside PyTorch.
# shellcheck disable=SC2034
checkpoint_optional=(python3-h5py python3-tqdm)
# MPI with its Python package, for arrays over several processes; optional too.
# shellcheck disable=SC2034
mpi_optional=(libopenmpi-dev python3-mpi4py)
# From PyPI: what builds the Python package, what its tests need, and what they use too where it is there.
python_build_packages=(nanobind==3.1.0 scikit-build-core==1.1.2 numpy==2.4.6)
python_test_packages=(numpy==2.4.6 ml_dtypes==0.6.0 pytest==9.2.0 hypothesis==6.170.17 einops==0.8.2
  safetensors==0.8.0 mypy==2.4.1)
# Arrays in chunks and what runs tasks; the tests that need them are skipped where Python is older than they allow.
# shellcheck disable=SC2034
python_array_packages=(zarr==3.1.6 h5py==3.16.0 dask==2026.8.0 distributed==2026.8.0 cubed==0.27.0)
# shellcheck disable=SC2034
python_slow_packages=(jax==0.10.2 jaxlib==0.10.2 pyopencl==2026.1.4)
# The first with opset 28, the newest that is read.
onnx_version=1.23.2
onnxruntime_version=1.32.0
# NVIDIA's pycute, which is a part of nvidia-cutlass, and tensor-layouts: what CuTe's algebra is compared with.
cutlass_version=4.2.0.0
tensor_layouts_version=0.3.2
# axe-core as a package of Python's.
axe_version=0.1.8
# Packages that write checkpoints, which those of this project are compared with.
checkpoint_packages=(gguf==0.19.0 safetensors==0.8.0 numpy==2.4.6)

package_installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    note "install: not root and no sudo here; as root run: $*"
    return 1
  fi
}

# Installs those of the packages that are missing; says nothing where none is.
install_packages() {
  local package missing=()
  if ! have apt-get || ! have dpkg-query; then
    check_tools "$@"
    return
  fi
  for package in "$@"; do
    package_installed "$package" || missing+=("$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && return
  say "install: missing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update </dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${missing[@]}" </dev/null
}

# Installs those of the packages that can be had.
install_optional() {
  local package
  for package in "$@"; do
    install_packages "$package" || note "install: goes on without $package"
  done
}

# Without apt: goes on if there is a compiler and CMake, and leaves the libraries to CMake's search.
check_tools() {
  local tool
  say "install: no apt here; needed are the equivalents of: $*"
  for tool in c++ cmake ninja; do
    if ! have "$tool"; then
      note "install: $tool is not there, and nothing can be built without it"
      return 1
    fi
  done
}

# libFuzzer and the sanitizers are a package of their own, named after clang's version.
install_fuzz_runtime() {
  local major
  install_packages "${fuzz_packages[@]}"
  if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then
    major=$(clang++ -dumpversion)
    install_packages "libclang-rt-${major%%.*}-dev"
  fi
}

# Python's packages onnx of this version, with ONNX's node tests, and onnxruntime, in a virtual environment of the
# project's own.
install_onnx() {
  local folder=$root/build/onnx
  "$folder/bin/python3" -c "import onnx, onnxruntime; assert onnx.__version__ == '$onnx_version'
assert onnxruntime.__version__ == '$onnxruntime_version'" 2>/dev/null && return
  say "install: onnx $onnx_version and onnxruntime $onnxruntime_version from PyPI, in build/onnx"
  python3 -m venv "$folder"
  "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check "onnx==$onnx_version" \
    "onnxruntime==$onnxruntime_version" numpy
}

# The Python that the package is built and tested with: the system's, which has headers and Debian's packages.
system_python() {
  if [[ -x /usr/bin/python3 ]]; then echo /usr/bin/python3; else command -v python3; fi
}

# python_with MODULE: a Python that has a module, the system's first.
python_with() {
  local candidate
  for candidate in "$(system_python)" python3; do
    if "$candidate" -c "import $1" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# What builds the Python package, in the virtual environment build/python/tools, and the wheels of what its tests need,
# in build/python/wheels, so that the tests themselves need no network. install_python [PACKAGE...]: further wheels.
install_python() {
  local folder=$root/build/python wanted=("${python_build_packages[@]}" "${python_test_packages[@]}"
    "${python_array_packages[@]}" "$@")
  [[ $(cat "$folder/installed.txt" 2>/dev/null) == "${wanted[*]}" ]] && return
  say "install: ${wanted[*]} from PyPI, in build/python"
  "$(system_python)" -m venv --clear "$folder/tools"
  "$folder/tools/bin/python" -m pip install --quiet --disable-pip-version-check "${python_build_packages[@]}"
  "$folder/tools/bin/python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: \
    --dest "$folder/wheels" "${python_test_packages[@]}" "$@"
  "$folder/tools/bin/python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: \
    --dest "$folder/wheels" "${python_test_packages[@]}" "${python_array_packages[@]}" ||
    note "install: goes on without ${python_array_packages[*]}"
  echo "${wanted[*]}" >"$folder/installed.txt"
}

# Python's packages pycute and tensor_layouts, without what they need for other things, in build/cute.
install_cute() {
  local folder=$root/build/cute
  "$folder/bin/python3" -c "import pycute, tensor_layouts" 2>/dev/null && return
  say "install: nvidia-cutlass $cutlass_version and tensor-layouts $tensor_layouts_version from PyPI, in build/cute"
  python3 -m venv "$folder"
  "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check --no-deps \
    "nvidia-cutlass==$cutlass_version" "tensor-layouts==$tensor_layouts_version"
}

# Python's packages gguf and safetensors, in build/checkpoints.
install_checkpoints() {
  local folder=$root/build/checkpoints
  "$folder/bin/python3" -c "import gguf, safetensors" 2>/dev/null && return
  say "install: ${checkpoint_packages[*]} from PyPI, in build/checkpoints"
  python3 -m venv "$folder"
  "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check "${checkpoint_packages[@]}"
}

# axe-core, which finds what people cannot use in a page, of Python's package of it, in build/show.
install_axe() {
  local folder=$root/build/show
  "$folder/bin/python3" -c "import axe_playwright_python" 2>/dev/null && return
  say "install: axe-playwright-python $axe_version from PyPI, in build/show"
  python3 -m venv --clear "$folder"
  "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check --no-deps \
    "axe-playwright-python==$axe_version"
}

# configure PRESET [-B FOLDER] [cmake arguments]: quiet where it works, all of CMake's words where it does not.
configure() {
  local preset=$1 log folder=$root/build/$1
  # Tests are built beside what is installed, of the same objects.
  [[ $preset != test ]] || folder=$root/build/release
  shift
  if [[ ${1:-} == -B ]]; then
    folder=$2
    shift 2
  fi
  # ccache keeps files that are compiled with precompiled headers only if it may overlook these.
  if have ccache; then
    set -- "-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,\
include_file_ctime;ccache" "$@"
  fi
  log=$(mktemp)
  if ! (cd "$root" && cmake --preset "$preset" -B "$folder" "$@") >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  # What CMake says it left out; scripts/test shows it.
  sed -n -E '/^-- Check/d;/^-- relayout|^-- .*(skipped|left out)/s/^-- //p' "$log" >"$folder/skipped.txt"
  rm -f "$log"
}

# Steps of a script and the seconds that each took, for timings() at its end.
step_names=()
step_seconds=()

# step NAME COMMAND...: runs the command and notes how long it took.
step() {
  local name=$1 start=$SECONDS
  shift
  "$@"
  step_names+=("$name")
  step_seconds+=($((SECONDS - start)))
}

# timings: what took how long, a line a step.
timings() {
  local i total=0
  say "seconds:"
  for i in "${!step_names[@]}"; do
    printf '  %5d  %s\n' "${step_seconds[i]}" "${step_names[i]}"
    total=$((total + step_seconds[i]))
  done
  printf '  %5d  together\n' "$total"
}

# build FOLDER [TARGET...]: on a terminal with ninja's own counter, elsewhere with a line every 20 s. Where it fails,
# what the compiler said is shown.
build() {
  local folder=$1 log pid status=0
  shift
  local command=(cmake --build "$folder")
  [[ $# -eq 0 ]] || command+=(--target "$@")
  if [[ -t 1 ]]; then
    "${command[@]}"
    return
  fi
  log=$(mktemp)
  "${command[@]}" >"$log" 2>&1 &
  pid=$!
  # The wait for the next line ends with the build.
  while timeout 20 tail --pid="$pid" -f /dev/null; [[ -d /proc/$pid ]]; do
    say "building: $(grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1)"
  done
  wait "$pid" || status=$?
  if [[ $status -eq 0 ]]; then
    say "built: $(grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1)"
    grep -A 12 'warning:' "$log" >&2 || true
  else
    cat "$log" >&2
  fi
  rm -f "$log"
  return "$status"
}
