# Flags of every target of the project, carried by `vx_build_flags`: warnings are errors with the compiler of the project, since each other
# one has its own, and with the machine's compiler where a preset sets VX_WARNINGS_ARE_ERRORS; sanitizers by VX_SANITIZE.
add_library(vx_build_flags INTERFACE)
target_compile_options(vx_build_flags INTERFACE
  -Wall -Wextra $<$<OR:$<CXX_COMPILER_ID:Clang>,$<BOOL:${VX_WARNINGS_ARE_ERRORS}>>:-Werror> -Wno-unused-parameter
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -fvisibility=hidden)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(vx_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi -Woverloaded-virtual>)
  target_link_options(vx_build_flags INTERFACE -fuse-ld=lld)
endif()
if(VX_SANITIZE)
  target_compile_options(vx_build_flags INTERFACE -fsanitize=${VX_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  target_link_options(vx_build_flags INTERFACE -fsanitize=${VX_SANITIZE})
  if(VX_SANITIZE MATCHES "undefined")
    # The packaged LLVM is built without the sanitizer's type information.
    target_compile_options(vx_build_flags INTERFACE -fno-sanitize=vptr)
  endif()
  # Linked into every executable by vx_add_executable.
  add_library(vx_sanitizer_options OBJECT ${CMAKE_SOURCE_DIR}/cmake/SanitizerOptions.cpp)
endif()
