# docs/ops.md and docs/passes.md come from the .td files, other pages from a script each. The target `docs` brings the committed
# files up to date; the tests `docs/NAME-is-current` fail when they are not.
set(vx_docs_dir ${CMAKE_BINARY_DIR}/docs)
set(vx_docs_join ${CMAKE_SOURCE_DIR}/cmake/VxDocsJoin.cmake)
file(MAKE_DIRECTORY ${vx_docs_dir})

# vx_generate_doc(<out> <file.td> <include dirs> -gen-...)
function(vx_generate_doc out td include_dir)
  set(include_flags "")
  foreach(dir ${include_dir} ${MLIR_INCLUDE_DIRS})
    list(APPEND include_flags -I ${dir})
  endforeach()
  file(GLOB_RECURSE td_deps ${CMAKE_SOURCE_DIR}/dialects/include/*.td ${CMAKE_SOURCE_DIR}/compiler/include/*.td)
  add_custom_command(OUTPUT ${out}
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} ${include_flags} ${td} -o ${out}
    DEPENDS ${td} ${td_deps} VERBATIM)
endfunction()

# vx_join_docs(<name> <title> <part>...)
function(vx_join_docs name title)
  add_custom_command(OUTPUT ${vx_docs_dir}/${name}
    COMMAND ${CMAKE_COMMAND} -DOUT=${vx_docs_dir}/${name} "-DTITLE=${title}" "-DPARTS=${ARGN}" -P ${vx_docs_join}
    DEPENDS ${ARGN} ${vx_docs_join} VERBATIM)
endfunction()

set(vx_op_docs "")
foreach(dialect VX VXK VXRT)
  set(td ${CMAKE_SOURCE_DIR}/dialects/include/vx/Dialect/${dialect}/IR/${dialect}Ops.td)
  if(EXISTS ${td})
    string(TOLOWER ${dialect} name)
    vx_generate_doc(${vx_docs_dir}/${name}.part.md ${td} ${CMAKE_SOURCE_DIR}/dialects/include -gen-dialect-doc -dialect=${name})
    list(APPEND vx_op_docs ${vx_docs_dir}/${name}.part.md)
  endif()
endforeach()
vx_join_docs(ops.md "Ops" ${vx_op_docs})

set(vx_pass_docs "")
file(GLOB_RECURSE vx_pass_tds CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/compiler/include ${CMAKE_SOURCE_DIR}/compiler/include/*Passes.td)
list(SORT vx_pass_tds)
foreach(td ${vx_pass_tds})
  string(REPLACE "/" "." name ${td})
  vx_generate_doc(${vx_docs_dir}/${name}.part.md ${CMAKE_SOURCE_DIR}/compiler/include/${td}
    "${CMAKE_SOURCE_DIR}/compiler/include;${CMAKE_SOURCE_DIR}/dialects/include" -gen-pass-doc)
  list(APPEND vx_pass_docs ${vx_docs_dir}/${name}.part.md)
endforeach()
vx_join_docs(passes.md "Passes" ${vx_pass_docs})

# Part of `all`, so that the test has something to compare with.
add_custom_target(vx_generated_docs ALL DEPENDS ${vx_docs_dir}/ops.md ${vx_docs_dir}/passes.md)
# Pages that a script makes, of headers, tables and docstrings: SCRIPT:PAGE.
set(vx_docs_scripts onnx-ops:onnx-ops api-reference:api http-reference:http-reference dsl-reference:dsl-reference
  python-reference:python-reference)
set(vx_docs_commands "")
foreach(pair ${vx_docs_scripts})
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 script)
  list(GET pair 1 name)
  list(APPEND vx_docs_commands
    COMMAND bash -c "${CMAKE_SOURCE_DIR}/scripts/${script} >${vx_docs_dir}/${name}.md"
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${vx_docs_dir}/${name}.md ${CMAKE_SOURCE_DIR}/docs)
endforeach()
list(APPEND vx_docs_commands
  COMMAND bash -c "${CMAKE_SOURCE_DIR}/scripts/http-reference --openapi >${vx_docs_dir}/openapi.json"
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${vx_docs_dir}/openapi.json ${CMAKE_SOURCE_DIR}/runtime/lib/serve)
add_custom_target(docs
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${vx_docs_dir}/ops.md ${vx_docs_dir}/passes.md ${CMAKE_SOURCE_DIR}/docs
  ${vx_docs_commands}
  DEPENDS ${vx_docs_dir}/ops.md ${vx_docs_dir}/passes.md VERBATIM)
if(VX_BUILD_TESTS)
  foreach(name ops passes)
    add_test(NAME docs/${name}-is-current
      COMMAND ${CMAKE_COMMAND} -E compare_files ${vx_docs_dir}/${name}.md ${CMAKE_SOURCE_DIR}/docs/${name}.md)
    set_tests_properties(docs/${name}-is-current PROPERTIES LABELS docs)
  endforeach()
endif()
if(VX_BUILD_TESTS)
  # The document that the server gives away.
  add_test(NAME docs/openapi-is-current
    COMMAND bash -o pipefail -c "scripts/http-reference --openapi | diff - runtime/lib/serve/openapi.json" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(docs/openapi-is-current PROPERTIES LABELS docs)
  # And of the list of ONNX's tests that pass.
  foreach(pair ${vx_docs_scripts} onnx-coverage:onnx-coverage)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 script)
    list(GET pair 1 name)
    set(tool "")
    if(script STREQUAL onnx-coverage)
      if(NOT VX_BUILD_COMPILER)
        continue() # the package of the tests is for builds with the compiler
      endif()
      set(tool " $<TARGET_FILE:vx-conformance>")
    endif()
    add_test(NAME docs/${name}-is-current
      COMMAND bash -o pipefail -c "scripts/${script}${tool} | diff - docs/${name}.md" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(docs/${name}-is-current PROPERTIES LABELS docs)
  endforeach()
endif()
