# Configures the project with CASE, and compares what the layer check says with what it should.
set(expected_allowed "")
set(expected_runtime-links-mlir "layer check: 'below' of layer 'runtime' links 'vx_mlir'")
set(expected_runtime-api-links-mlir "layer check: 'below' of layer 'runtime-api' links 'vx_mlir'")
set(expected_driver-links-driver
  "layer check: 'cuda' of layer 'driver' links 'host' of layer 'driver', allowed are: abi;runtime")
set(expected_frontend-links-compiler
  "layer check: 'onnx' of layer 'frontend' links 'passes' of layer 'transforms', allowed are: dialects")
set(expected_compiler-links-frontend
  "layer check: 'passes' of layer 'transforms' links 'onnx' of layer 'frontend', allowed are: dialects;analysis")
set(expected_compiler-links-runtime
  "layer check: 'writer' of layer 'module' links 'loader' of layer 'runtime', allowed are: abi;dialects")
set(expected_target-links-target "layer check: 'vulkan' of layer 'target' links 'cpu' of layer 'target', allowed are: ")
set(expected_library-links-api "layer check: 'onnx' of layer 'frontend' links 'compiler' of layer 'api', allowed are: dialects")
set(expected_library-links-tool "layer check: 'compiler' of layer 'api' links 'program' of layer 'tool', allowed are: ")
set(expected_past-the-door "layer check: 'onnx' of layer 'frontend' links 'MLIRIR', only 'vx_mlir' may")
set(expected_base-links-runtime "layer check: 'base' of layer 'base' links 'loader' of layer 'runtime', allowed are: ")
set(expected_train-links-runtime "layer check: 'kit' of layer 'train' links 'loader' of layer 'runtime', allowed are: abi;runtime-api;train;base")
set(expected_runtime-links-image "layer check: 'loader' of layer 'runtime' links 'image' of layer 'image', allowed are: abi;runtime;base")
set(expected_text-links-runtime "layer check: 'words' of layer 'text' links 'loader' of layer 'runtime', allowed are: base")
set(expected_serve-links-runtime "layer check: 'server' of layer 'serve' links 'loader' of layer 'runtime', allowed are: abi;runtime-api;text;serve;base")
set(expected_serve-links-grpc "layer check: 'server' of layer 'serve' links 'calls' of layer 'grpc', allowed are: abi;runtime-api;text;serve;base")
set(expected_unknown-layer "vx_add_library: 'soup' names the layer 'kitchen', known are: abi;image;runtime;")

if(NOT DEFINED expected_${CASE})
  message(FATAL_ERROR "no expectation for '${CASE}'")
endif()
file(REMOVE_RECURSE ${BINARY})
execute_process(
  COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${PROJECT} -B ${BINARY} -DCASE=${CASE} -DVX_ROOT=${ROOT}
          -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_FORCED=TRUE
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
# A message is wrapped to the width of a line.
string(REGEX REPLACE "[ \t\r\n]+" " " output "${output}")
if(expected_${CASE} STREQUAL "")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "case '${CASE}' should configure, got exit code ${code}: ${output}")
  endif()
  return()
endif()
if(code EQUAL 0)
  message(FATAL_ERROR "case '${CASE}' should be refused, it configured")
endif()
string(FIND "${output}" "${expected_${CASE}}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "case '${CASE}' should say \"${expected_${CASE}}\", got: ${output}")
endif()
