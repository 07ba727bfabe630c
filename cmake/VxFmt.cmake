# vx_fmt: fmt without its shared library. Its definitions are compiled once, unless they want another form in this version of fmt: then
# header-only, in every source file.
find_package(fmt REQUIRED)
set(vx_fmt_definitions ${CMAKE_SOURCE_DIR}/runtime/lib/base/fmt_definitions.cpp)
get_target_property(vx_fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
try_compile(VX_FMT_DEFINITIONS_FIT ${CMAKE_BINARY_DIR}/fmt SOURCES ${vx_fmt_definitions} ${CMAKE_CURRENT_LIST_DIR}/FmtUse.cpp
  CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${vx_fmt_include}" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
if(VX_FMT_DEFINITIONS_FIT)
  vx_add_library(vx_fmt LAYER abi SOURCES ${vx_fmt_definitions})
  target_include_directories(vx_fmt SYSTEM PUBLIC ${vx_fmt_include})
else()
  message(STATUS "fmt ${fmt_VERSION} is used header-only: runtime/lib/base/fmt_definitions.cpp does not fit it")
  vx_add_library(vx_fmt LAYER abi INTERFACE PUBLIC fmt::fmt-header-only)
endif()
