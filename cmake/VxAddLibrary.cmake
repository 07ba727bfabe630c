# The layer table: which layer may link which. `vx_add_library(name LAYER layer ...)` records a library's layer, and
# `vx_check_layers()`, called last by the root, stops the configure step at the first link that the table forbids.
# Includes are checked against the same table by the test `layers.includes`.
#
# The order inside the compiler is: analysis <- transforms, autodiff, memory <- conversion <- codegen <- target <- pipelines
# <- driver. `api` is the only layer that sees the compiler and the frontends; nothing but a tool may link it.
# `runtime-api` is its like below: the C interface of the runtime and the table of its drivers. `train` is a user of it, as an
# application is: vx.h, and none of the runtime's own headers. `text` is what becomes of text on its way into a model and out of one,
# which needs no runtime; a frontend asks it whether a model's tokenizer can be read. `serve` is a user of both: embeddings, and modules over HTTP.
# `base` knows none of the others: files and text, for both halves. `image` is opened by the runtime at run time and linked by tests only; it
# knows the interface between the two (vx/abi/image.h) and nothing else. `grpc` is the same for the server (vx/abi/grpc.h).

set(VX_LAYERS abi image runtime driver runtime-api train text grpc serve dialects frontend analysis transforms memory conversion codegen target
              module pipelines compiler-driver api base tool test)

set(VX_LAYER_abi "")
set(VX_LAYER_base "")
set(VX_LAYER_image abi image)
set(VX_LAYER_runtime abi runtime base)
set(VX_LAYER_driver abi runtime base)
set(VX_LAYER_runtime-api abi runtime driver runtime-api base)
set(VX_LAYER_train abi runtime-api train base)
set(VX_LAYER_text base)
set(VX_LAYER_grpc abi grpc base)
set(VX_LAYER_serve abi runtime-api text serve base)
set(VX_LAYER_dialects dialects base)
set(VX_LAYER_frontend dialects frontend text base)
set(VX_LAYER_analysis dialects analysis)
set(VX_LAYER_transforms dialects analysis)
set(VX_LAYER_memory dialects analysis)
set(VX_LAYER_conversion dialects analysis transforms memory base)
set(VX_LAYER_codegen abi dialects analysis transforms conversion codegen base)
set(VX_LAYER_target abi dialects analysis transforms conversion codegen)
set(VX_LAYER_module abi dialects analysis base)
set(VX_LAYER_pipelines abi dialects analysis transforms memory conversion codegen target module pipelines)
set(VX_LAYER_compiler-driver abi dialects analysis transforms memory conversion codegen target module pipelines
                             base)
set(VX_LAYER_api abi dialects compiler-driver frontend pipelines target base)
set(VX_LAYER_tool ${VX_LAYERS})
set(VX_LAYER_test ${VX_LAYERS})

# vx_add_library(<name> LAYER <layer> [SHARED|INTERFACE] [PCH <header>] SOURCES ... [PUBLIC lib...] [PRIVATE lib...]
#                [INCLUDE dir...])
#
# Makes a static library with the warnings of the project. INCLUDE folders are public, relative to the caller; a header is
# visible only to who links the library. PCH names a precompiled header (cmake/VxPrecompile.cmake). The sources of a library or a program
# are compiled several at a time (VX_UNITY_BUILD), so names in their unnamed namespaces differ.
function(vx_add_library name)
  cmake_parse_arguments(L "SHARED;INTERFACE" "LAYER;PCH" "SOURCES;PUBLIC;PRIVATE;INCLUDE" ${ARGN})
  if(NOT L_LAYER IN_LIST VX_LAYERS)
    message(FATAL_ERROR "vx_add_library: '${name}' names the layer '${L_LAYER}', known are: ${VX_LAYERS}")
  endif()
  if(L_INTERFACE)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${L_PUBLIC})
    target_include_directories(${name} INTERFACE ${L_INCLUDE})
  else()
    if(L_SHARED)
      add_library(${name} SHARED ${L_SOURCES})
    else()
      add_library(${name} STATIC ${L_SOURCES})
    endif()
    target_link_libraries(${name} PUBLIC ${L_PUBLIC} PRIVATE ${L_PRIVATE} vx_build_flags)
    target_include_directories(${name} PUBLIC ${L_INCLUDE})
    if(L_PCH)
      vx_precompile(${name} ${L_PCH})
    endif()
    set_target_properties(${name} PROPERTIES UNITY_BUILD "${VX_UNITY_BUILD}")
  endif()
  set_property(TARGET ${name} PROPERTY VX_LAYER ${L_LAYER})
  set_property(GLOBAL APPEND PROPERTY VX_LIBRARIES ${name})
endfunction()

# vx_add_executable(<name> LAYER tool|test [SEPARATE] [PCH <header>] SOURCES ... [LINK lib...])
#
# With SEPARATE each source is compiled by itself: tests that give names of their own to the same things.
function(vx_add_executable name)
  cmake_parse_arguments(L "SEPARATE" "LAYER;PCH" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${L_SOURCES})
  target_link_libraries(${name} PRIVATE ${L_LINK} vx_build_flags)
  if(TARGET vx_sanitizer_options)
    target_link_libraries(${name} PRIVATE vx_sanitizer_options)
  endif()
  if(L_PCH)
    vx_precompile(${name} ${L_PCH})
  endif()
  if(NOT L_SEPARATE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD "${VX_UNITY_BUILD}")
  endif()
  set_property(TARGET ${name} PROPERTY VX_LAYER ${L_LAYER})
  set_property(GLOBAL APPEND PROPERTY VX_LIBRARIES ${name})
endfunction()

function(vx_check_layers)
  get_property(libraries GLOBAL PROPERTY VX_LIBRARIES)
  foreach(library ${libraries})
    get_property(layer TARGET ${library} PROPERTY VX_LAYER)
    get_target_property(type ${library} TYPE)
    set(links "")
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(links ${library} LINK_LIBRARIES)
    endif()
    get_target_property(interface_links ${library} INTERFACE_LINK_LIBRARIES)
    foreach(link ${links} ${interface_links})
      if(TARGET ${link})
        get_property(link_layer TARGET ${link} PROPERTY VX_LAYER)
        if(link_layer AND NOT link_layer IN_LIST VX_LAYER_${layer})
          message(FATAL_ERROR "layer check: '${library}' of layer '${layer}' links '${link}' of layer '${link_layer}', "
                              "allowed are: ${VX_LAYER_${layer}}")
        endif()
        # Below the compiler nothing may see MLIR.
        if(link STREQUAL "vx_mlir" AND layer MATCHES "^(abi|image|runtime|driver|runtime-api|train|text|serve)$")
          message(FATAL_ERROR "layer check: '${library}' of layer '${layer}' links 'vx_mlir'")
        endif()
      endif()
      # One door to LLVM.
      if(link MATCHES "^(MLIR|LLVM)")
        message(FATAL_ERROR "layer check: '${library}' of layer '${layer}' links '${link}', only 'vx_mlir' may")
      endif()
    endforeach()
  endforeach()
endfunction()

# The compiler's library has a protobuf of its own: a program that is linked to that library and to an archive of protobuf keeps the archive's symbols
# to itself. Only these, since a sanitizer's symbols are the program's and all its libraries'.
function(vx_hide_protobuf name)
  target_link_options(${name} PRIVATE LINKER:--exclude-libs,libprotobuf-lite.a:libvx_onnx_wire.a)
endfunction()
