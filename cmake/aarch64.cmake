# Cross-compiles for 64-bit Arm (preset arm64), and runs the tests in an emulator.
#
#   cmake --preset arm64      after scripts/test-arm64, or with RELAYOUT_ARM64_PACKAGES= a folder of Arm's libraries
#
# The compiler is Debian's g++-aarch64-linux-gnu, the emulator qemu-user-static. Libraries come from the folder
# RELAYOUT_ARM64_PACKAGES alone, into which scripts/test-arm64 unpacks Debian's arm64 packages, so that none of the
# machine's own architecture is taken for one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(RELAYOUT_ARM64_PACKAGES "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-packages" CACHE PATH
  "Folder with libraries for Arm")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RELAYOUT_ARM64_PACKAGES)
cmake_path(NORMAL_PATH RELAYOUT_ARM64_PACKAGES)
set(CMAKE_FIND_ROOT_PATH "${RELAYOUT_ARM64_PACKAGES}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The emulator finds the C library beside the cross compiler, and the others in that folder.
set(libraries "${RELAYOUT_ARM64_PACKAGES}/usr/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64-static -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=${libraries}:/usr/aarch64-linux-gnu/lib")
