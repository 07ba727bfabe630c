# ccache when it is there. Precompiled headers need two of its checks relaxed.
find_program(VX_CCACHE ccache)
if(VX_CCACHE)
  set(vx_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${VX_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${vx_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${vx_launcher})
endif()
