# Precompiled headers: what the sources of one kind nearly all read, parsed once.
set(VX_PRECOMPILED_MLIR_LINKS vx_mlir)
set(VX_PRECOMPILED_Runtime_LINKS vx_fmt)
set(VX_PRECOMPILED_Tools_LINKS vx_fmt CLI11::CLI11 nlohmann_json::nlohmann_json)
set(VX_PRECOMPILED_Tests_LINKS vx_fmt GTest::gtest)
# A test spends its time in what it tests, a tool in the libraries: their own sources are compiled quickly. Levels of a precompiled header
# and of its users must agree.
set(VX_PRECOMPILED_Tests_OPTIONS $<$<CONFIG:Release>:-O0>)
set(VX_PRECOMPILED_Tools_OPTIONS $<$<CONFIG:Release>:-O1>)

# vx_precompile(<target> <header>): cmake/<header>Precompiled.h is read before each source of the target. The first target makes the
# precompiled file, the others of the build reuse it. Sources include what they use all the same: a build by another compiler has no
# precompiled headers.
function(vx_precompile target header)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    return()
  endif()
  string(TOLOWER vx_${header}_pch carrier)
  if(NOT TARGET ${carrier})
    file(WRITE ${CMAKE_BINARY_DIR}/pch/${carrier}.cpp "// Carries the precompiled header ${header}Precompiled.h.\n")
    add_library(${carrier} OBJECT ${CMAKE_BINARY_DIR}/pch/${carrier}.cpp)
    target_link_libraries(${carrier} PRIVATE ${VX_PRECOMPILED_${header}_LINKS} vx_build_flags)
    target_precompile_headers(${carrier} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${header}Precompiled.h)
    # The same headers make the same file, so that ccache finds what another build folder compiled with it.
    target_compile_options(${carrier} PRIVATE "SHELL:-Xclang -fno-pch-timestamp" ${VX_PRECOMPILED_${header}_OPTIONS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${carrier})
  target_compile_options(${target} PRIVATE ${VX_PRECOMPILED_${header}_OPTIONS})
endfunction()
