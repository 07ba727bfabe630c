# The one door to LLVM: the interface target `vx_mlir` is the only carrier of its include paths, definitions and
# libraries, and `vx_tablegen` the only caller of mlir-tblgen.
if(NOT MLIR_DIR)
  find_program(VX_LLVM_CONFIG NAMES llvm-config-22 llvm-config REQUIRED)
  execute_process(COMMAND ${VX_LLVM_CONFIG} --cmakedir OUTPUT_VARIABLE vx_llvm_cmakedir OUTPUT_STRIP_TRAILING_WHITESPACE)
  get_filename_component(vx_llvm_cmakedir ${vx_llvm_cmakedir}/.. ABSOLUTE)
  list(APPEND CMAKE_PREFIX_PATH ${vx_llvm_cmakedir}/mlir ${vx_llvm_cmakedir}/llvm ${vx_llvm_cmakedir}/lld)
endif()
find_package(MLIR 22.1 REQUIRED CONFIG)
find_package(LLD REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(vx_mlir INTERFACE)
# Generated headers count as the system's: they are not ours to clean of warnings.
target_include_directories(vx_mlir SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/dialects/include ${CMAKE_BINARY_DIR}/compiler/include
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(vx_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(vx_mlir INTERFACE ${vx_llvm_definitions})
target_link_libraries(vx_mlir INTERFACE MLIR LLVM)

# vx_tablegen(<target> <file.td> INCLUDE dir... OUT <file> -gen-... [OUT <file> -gen-...]...)
#
# Generated files land under the build folder's copy of the source tree's include root, so that "vx/..." finds them. One whose
# text stays the same keeps its time stamp: what includes it is not built again.
function(vx_tablegen target td)
  cmake_parse_arguments(T "" "ROOT" "INCLUDE" ${ARGN})
  set(outputs "")
  set(rest ${T_UNPARSED_ARGUMENTS})
  get_filename_component(td_path ${td} ABSOLUTE)
  file(GLOB_RECURSE td_deps ${CMAKE_SOURCE_DIR}/dialects/include/*.td ${CMAKE_SOURCE_DIR}/compiler/include/*.td)
  while(rest)
    list(POP_FRONT rest out)
    set(flags "")
    while(rest)
      list(GET rest 0 head)
      if(NOT head MATCHES "^-")
        break()
      endif()
      list(POP_FRONT rest head)
      list(APPEND flags ${head})
    endwhile()
    set(include_flags "")
    foreach(dir ${T_INCLUDE} ${MLIR_INCLUDE_DIRS})
      list(APPEND include_flags -I ${dir})
    endforeach()
    set(out_path ${T_ROOT}/${out})
    get_filename_component(out_dir ${out_path} DIRECTORY)
    file(MAKE_DIRECTORY ${out_dir})
    add_custom_command(OUTPUT ${out_path}
      COMMAND ${MLIR_TABLEGEN_EXE} --write-if-changed ${flags} ${include_flags} ${td_path} -o ${out_path}
      DEPENDS ${td_path} ${td_deps} VERBATIM)
    list(APPEND outputs ${out_path})
  endwhile()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()
