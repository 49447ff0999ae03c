# Script of the test `consumer`: install, configure, build, run; stops at the first failure.
file(REMOVE_RECURSE ${WORK})
set(flags "")
if(SANITIZE)
  set(flags "-DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE}")
endif()

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "consumer: exit ${result} from ${ARGN}")
  endif()
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${WORK}/prefix)
step(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_PREFIX_PATH=${WORK}/prefix ${flags})
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/consumer)
# A second program links the core alone.
step(${WORK}/build/consumer_core)
# One has the C interface, from its shared library.
step(${WORK}/build/consumer_c)
step(${WORK}/build/consumer_c_models)
# Programs that find the C interface and the C++ library by pkg-config, where that is installed.
find_program(pkg_config NAMES pkg-config pkgconf)
file(GLOB_RECURSE pc_file ${WORK}/prefix/*/relayout.pc)
function(build_by_pkg_config module source)
  execute_process(COMMAND ${pkg_config} --cflags --libs ${module} OUTPUT_VARIABLE flags
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  step(${COMPILER} -std=c++20 ${PROJECT}/${source} -o ${WORK}/build/by_${module} ${flags}
    -Wl,-rpath,${library_folder})
  step(${WORK}/build/by_${module})
endfunction()
if(pkg_config AND NOT SANITIZE)
  cmake_path(GET pc_file PARENT_PATH pc_folder)
  cmake_path(GET pc_folder PARENT_PATH library_folder)
  set(ENV{PKG_CONFIG_PATH} ${pc_folder})
  build_by_pkg_config(relayout c_interface.cc)
  build_by_pkg_config(relayout-models c_models.cc)
  build_by_pkg_config(relayout-cpp main.cc)
endif()
# One moves an array between ranks, here between one and itself, where MPI is installed.
if(EXISTS ${WORK}/build/consumer_mpi AND NOT SANITIZE)
  set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
  set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
  step(${WORK}/build/consumer_mpi)
endif()
# One has oneDNN's own types, where oneDNN is installed.
if(EXISTS ${WORK}/build/consumer_onednn)
  step(${WORK}/build/consumer_onednn)
endif()
