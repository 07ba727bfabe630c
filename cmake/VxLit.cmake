# The lit suites: one ctest per top folder of test/ that holds lit tests, all with the label `lit`.
#
# lit, FileCheck, not and split-file are those of the LLVM package that the project builds against.
set(VX_LIT_ARGS "" CACHE STRING "Arguments of lit, after those that scripts/test-skips reads the output of")
set(VX_LLVM_BIN_DIR ${LLVM_TOOLS_BINARY_DIR})
find_program(VX_LIT NAMES lit HINTS ${VX_LLVM_BIN_DIR} NO_DEFAULT_PATH)
if(NOT VX_LIT)
  find_program(VX_LIT NAMES lit llvm-lit REQUIRED)
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(VX_LIT_PYTHON ${Python3_EXECUTABLE})

# vx_add_lit_suites(<folder>...)
#
# Registers each folder of test/ that is there; the tests are found when lit runs, not when cmake does.
function(vx_add_lit_suites)
  configure_file(${CMAKE_SOURCE_DIR}/test/lit.site.cfg.py.in ${CMAKE_BINARY_DIR}/test/lit.site.cfg.py @ONLY)
  foreach(folder ${ARGN})
    if(NOT IS_DIRECTORY ${CMAKE_SOURCE_DIR}/test/${folder})
      continue()
    endif()
    add_test(NAME lit/${folder}
      COMMAND ${VX_LIT_PYTHON} ${VX_LIT} -sv --show-unsupported ${VX_LIT_ARGS} ${CMAKE_BINARY_DIR}/test/${folder})
    set_tests_properties(lit/${folder} PROPERTIES LABELS lit)
  endforeach()
endfunction()
