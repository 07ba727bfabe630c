// Requests to functions of tensors by KServe's second protocol, for a server under load.
#ifndef VX_BENCH_INFER_CASE_H
#define VX_BENCH_INFER_CASE_H

#include "server_bench.h"

#include <string>

namespace vx::tools {

struct InferRequest {
  std::string model, function; // the server's name for a model; the first function where none is given
  std::string device = "cpu";  // of the engine
  uint32_t threads = 0;        // of the engine; 0: one per core
  bool isBinary = true;        // how tensors are sent, else as JSON
  LoadOptions load;
};

// Different requests of `rows` rows each for all clients, with random numbers. Asks the server for its inputs, and for
// the answer to each request by itself. Throws a ToolError.
ServerCase makeInferCase(const InferRequest &options, size_t rows);

} // namespace vx::tools

#endif
