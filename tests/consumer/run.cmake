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
# A third one has oneDNN's own types, where oneDNN is installed.
if(EXISTS ${WORK}/build/consumer_onednn)
  step(${WORK}/build/consumer_onednn)
endif()
