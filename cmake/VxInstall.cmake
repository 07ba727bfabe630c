# What `cmake --install` puts where, as components, and the packages that cpack makes of these:
#
#   runtime, runtime-dev     libvx_runtime; vx.h, vx.hpp, bench.hpp, compare.hpp   libvx-runtime0, libvx-runtime-dev
#   image                    libvx_image                      libvx-image0
#   grpc                     libvx_grpc                       libvx-grpc0
#   train, train-dev         libvx_train; vx/train.hpp       libvx-train0, libvx-train-dev
#   llm, llm-dev             libvx_llm; vx/llm/*              libvx-llm0, libvx-llm-dev
#   compiler, compiler-dev   libvx_compiler; vxc.h, builder.hpp libvx-compiler0, libvx-compiler-dev
#   serve, serve-dev         libvx_serve; vx/serve/*.hpp      libvx-serve0, libvx-serve-dev
#
#   tools                    vx, vx-run, vx-info, vx-bench, vx-selfcheck, vx-train, vx-embed, vx-llm   vx-tools
#   compiler-tools           vx-compile, vx-conformance       vx-compiler
#   server                   vx-serve, vx-models, its unit and its configuration   vx-server
#
# A tool has a page of the manual and what bash completes behind its name.
#
# An application finds them by `find_package(vx COMPONENTS runtime train serve llm compiler)` as vx::runtime, vx::train, vx::serve,
# vx::llm and vx::compiler, or by pkg-config as vx-runtime and its like. Only the last one and compiler-tools depend on LLVM.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(vx_source ${CMAKE_SOURCE_DIR})
file(RELATIVE_PATH VX_PREFIX_FROM_PKGCONFIG /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(vx_pages ${CMAKE_BINARY_DIR}/tools/help-pages/pages)
set(vx_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/vx)

# Programs find the libraries beside them, wherever the whole is moved to.
function(vx_install_library target component)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN;${ARGN}")
  install(TARGETS ${target}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT ${component}-dev)
endfunction()
function(vx_install_tools component)
  get_property(with_pages GLOBAL PROPERTY VX_TOOLS_WITH_PAGES)
  foreach(tool ${ARGN})
    set_target_properties(${tool} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    if(NOT tool IN_LIST with_pages)
      message(FATAL_ERROR "'${tool}' is installed and has no page of the manual: tools/help-pages/CMakeLists.txt lists the tools")
    endif()
    if(TARGET vx-help-pages)
      install(FILES ${vx_pages}/${tool}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
      install(FILES ${vx_pages}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${tool} COMPONENT ${component})
    endif()
  endforeach()
endfunction()

# One file of each for CMake and for pkg-config. REQUIRES: other components.
function(vx_install_description component)
  cmake_parse_arguments(D "" "SUMMARY" "REQUIRES" ${ARGN})
  set(VX_COMPONENT ${component})
  set(VX_SUMMARY "${D_SUMMARY}")
  set(VX_COMPONENTS_REQUIRED "${D_REQUIRES}")
  list(TRANSFORM D_REQUIRES PREPEND "vx-" OUTPUT_VARIABLE required)
  list(JOIN required " " VX_REQUIRES)
  set(VX_LIBRARY_FILE libvx_${component}.so.${vx_soversion})
  configure_file(${vx_source}/cmake/vxComponent.cmake.in ${CMAKE_BINARY_DIR}/package/vx-${component}.cmake @ONLY)
  configure_file(${vx_source}/cmake/vxComponent.pc.in ${CMAKE_BINARY_DIR}/package/vx-${component}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/vx-${component}.cmake DESTINATION ${vx_config_folder} COMPONENT ${component}-dev)
  install(FILES ${CMAKE_BINARY_DIR}/package/vx-${component}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component}-dev)
endfunction()

get_target_property(vx_soversion vx_runtime SOVERSION)
vx_install_library(vx_runtime runtime)
install(FILES ${vx_source}/runtime/include/vx/runtime/device.hpp ${vx_source}/runtime/include/vx/runtime/error.hpp
  ${vx_source}/runtime/include/vx/runtime/vx.h ${vx_source}/runtime/include/vx/runtime/vx.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx/runtime COMPONENT runtime-dev)
install(FILES ${vx_source}/runtime/include/vx/bench.hpp ${vx_source}/runtime/include/vx/compare.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx COMPONENT runtime-dev)
install(FILES ${vx_source}/runtime/include/vx/compare/elements.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx/compare COMPONENT runtime-dev)
vx_install_description(runtime SUMMARY "Runs vx modules on CUDA, ROCm, Vulkan and the CPU")
configure_package_config_file(${vx_source}/cmake/vxConfig.cmake.in ${CMAKE_BINARY_DIR}/package/vxConfig.cmake
  INSTALL_DESTINATION ${vx_config_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/vxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/vxConfig.cmake ${CMAKE_BINARY_DIR}/package/vxConfigVersion.cmake
  DESTINATION ${vx_config_folder} COMPONENT runtime-dev)

# The runtime opens it by its soname; nobody links it.
if(TARGET vx_image)
  # A wheel has the libraries of images in the folder image. These have no run path, so it is one that they inherit.
  set_target_properties(vx_image PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/image")
  target_link_options(vx_image PRIVATE -Wl,--disable-new-dtags)
  install(TARGETS vx_image LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT image NAMELINK_SKIP)
  # By scripts/build-wheels only.
  install(TARGETS vx_no_jbig LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/image COMPONENT wheel NAMELINK_SKIP EXCLUDE_FROM_ALL)
endif()

# The server opens it by its soname; nobody links it.
if(TARGET vx_grpc)
  vx_install_library(vx_grpc grpc)
endif()

# Tokenizers, embeddings and language models for the wheels' module of them: by scripts/build-wheels only.
set(vx_wheel_libraries vx_llm_static vx_embed_static vx_text vx_base)
if(VX_FMT_DEFINITIONS_FIT) # else fmt is in each of them
  list(APPEND vx_wheel_libraries vx_fmt)
endif()
list(TRANSFORM vx_wheel_libraries REPLACE "(.+)" "$<TARGET_FILE:\\1>")
install(FILES ${vx_wheel_libraries}
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/wheel COMPONENT wheel EXCLUDE_FROM_ALL)

vx_install_library(vx_train train)
install(FILES ${vx_source}/runtime/include/vx/train.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx COMPONENT train-dev)
install(DIRECTORY ${vx_source}/runtime/include/vx/train DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx COMPONENT train-dev)
vx_install_description(train SUMMARY "Trains vx modules" REQUIRES runtime)

vx_install_library(vx_serve serve)
install(DIRECTORY ${vx_source}/runtime/include/vx/serve DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx COMPONENT serve-dev)
vx_install_description(serve SUMMARY "Embeds texts by vx modules" REQUIRES runtime)

vx_install_library(vx_llm llm)
install(DIRECTORY ${vx_source}/runtime/include/vx/llm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx COMPONENT llm-dev)
install(FILES ${vx_source}/runtime/include/vx/text/sampling_options.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx/text COMPONENT llm-dev)
vx_install_description(llm SUMMARY "Generates text by language models in vx modules" REQUIRES runtime)

vx_install_tools(tools vx vx-run vx-info vx-bench vx-selfcheck vx-train vx-embed vx-llm)
if(TARGET vx-selfcheck-pack)
  install(FILES ${CMAKE_BINARY_DIR}/share/vx/selfcheck.pack ${vx_source}/tools/vx-selfcheck/selfcheck-report.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/vx COMPONENT tools)
endif()
vx_install_tools(server vx-serve vx-models)
install(FILES ${vx_source}/examples/serving/config.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vx-server/examples COMPONENT server)
# It names the program and its configuration by their paths, which are known when they are installed: /etc for /usr, else etc of the prefix.
install(CODE "set(VX_BINARIES \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
  set(VX_CONFIGURATION /etc/vx)
else()
  set(VX_CONFIGURATION \"\${CMAKE_INSTALL_PREFIX}/etc/vx\")
endif()
file(INSTALL \"${vx_source}/tools/vx-serve/config.toml\" DESTINATION \"\${VX_CONFIGURATION}\")
configure_file(\"${vx_source}/tools/vx-serve/vx-serve.service.in\" \"${CMAKE_BINARY_DIR}/package/vx-serve.service\" @ONLY)" COMPONENT server)
install(FILES ${CMAKE_BINARY_DIR}/package/vx-serve.service DESTINATION lib/systemd/system COMPONENT server)
if(TARGET vx_compiler)
  # LLVM's own packages keep MLIR where the loader does not look.
  vx_install_library(vx_compiler compiler ${LLVM_LIBRARY_DIR})
  install(FILES ${vx_source}/compiler/include/vx/builder.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx COMPONENT compiler-dev)
  install(DIRECTORY ${vx_source}/compiler/include/vx/builder DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx COMPONENT compiler-dev)
  install(FILES ${vx_source}/compiler/include/vx/compiler/vxb.h ${vx_source}/compiler/include/vx/compiler/vxc.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vx/compiler COMPONENT compiler-dev)
  vx_install_description(compiler SUMMARY "Compiles ONNX models to vx modules")
  vx_install_tools(compiler-tools vx-compile vx-conformance)
  # Its evaluator is MLIR's user beside the library of the compiler.
  set_property(TARGET vx-conformance APPEND PROPERTY INSTALL_RPATH ${LLVM_LIBRARY_DIR})
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME vx)
set(CPACK_PACKAGE_VENDOR vx)
set(CPACK_PACKAGE_CONTACT "The developers of vx <vx@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "A graph compiler and thin runtime for machine learning")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_STRIP_FILES ON)
# Whatever the umask.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL runtime runtime-dev train train-dev serve serve-dev llm llm-dev tools server)
if(TARGET vx_image)
  list(APPEND CPACK_COMPONENTS_ALL image)
endif()
if(TARGET vx_grpc)
  list(APPEND CPACK_COMPONENTS_ALL grpc)
endif()
if(TARGET vx_compiler)
  list(APPEND CPACK_COMPONENTS_ALL compiler compiler-dev compiler-tools)
endif()
foreach(entry runtime:libvx-runtime0 runtime-dev:libvx-runtime-dev image:libvx-image0 grpc:libvx-grpc0 train:libvx-train0 train-dev:libvx-train-dev
              compiler:libvx-compiler0 compiler-dev:libvx-compiler-dev serve:libvx-serve0 serve-dev:libvx-serve-dev llm:libvx-llm0 llm-dev:libvx-llm-dev tools:vx-tools server:vx-server compiler-tools:vx-compiler)
  string(REPLACE ":" ";" entry ${entry})
  list(GET entry 0 component)
  list(GET entry 1 package)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  # The licences, of the libraries too that are compiled in.
  install(FILES ${vx_source}/cmake/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  if(component MATCHES "^(runtime|image|grpc|train|serve|llm|compiler)$")
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION libs)
  elseif(component MATCHES "-dev$")
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION libdevel)
  endif()
endforeach()
# What the runtime opens when a module wants it, and what the server starts for a model that is no module.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "libvx-image0, libpcre2-8-0")
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "libcurl4, libvx-grpc0, vx-compiler")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "libvx-compiler0")
# What an administrator has changed of it stays when the package is upgraded.
file(WRITE ${CMAKE_BINARY_DIR}/package/conffiles "/etc/vx/config.toml\n")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/conffiles)
set(CPACK_COMPONENT_RUNTIME-DEV_DEPENDS runtime)
set(CPACK_COMPONENT_TRAIN_DEPENDS runtime)
set(CPACK_COMPONENT_TRAIN-DEV_DEPENDS train runtime-dev)
set(CPACK_COMPONENT_SERVE_DEPENDS runtime)
set(CPACK_COMPONENT_SERVE-DEV_DEPENDS serve runtime-dev)
set(CPACK_COMPONENT_LLM_DEPENDS runtime)
set(CPACK_COMPONENT_LLM-DEV_DEPENDS llm runtime-dev)
set(CPACK_COMPONENT_SERVER_DEPENDS runtime)
set(CPACK_COMPONENT_COMPILER-DEV_DEPENDS compiler runtime-dev)
set(CPACK_COMPONENT_TOOLS_DEPENDS runtime)
set(CPACK_COMPONENT_COMPILER-TOOLS_DEPENDS compiler runtime)
include(CPack)
