# cmake -DCOMMAND=PROGRAM;ARGUMENT... -DFILE=FILE -P WriteOutput.cmake: writes what a program prints to a file, which is
# only there if the program succeeded. EMULATOR runs the program where it is another machine's.
cmake_path(GET FILE PARENT_PATH folder)
if(folder)
  file(MAKE_DIRECTORY ${folder})
endif()
execute_process(COMMAND ${EMULATOR} ${COMMAND} OUTPUT_FILE ${FILE}.part COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${FILE}.part ${FILE})
