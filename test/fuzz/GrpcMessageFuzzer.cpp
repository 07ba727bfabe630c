// Feeds bytes to the reader of gRPC's messages: a request whose JSON reads again and whose tensors have all of its
// bytes, or an error with a message. The same bytes are fed to the writer of answers, which has them from the server.
//
// The first byte says which function of the service it is.
#include "messages.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>

namespace {

using namespace vx::grpc_wire;

void check(bool condition) {
  if (!condition)
    std::abort();
}

void readRequest(const Rpc &rpc, std::string_view bytes) {
  check(memoryOf(rpc, bytes) >= bytes.size());
  try {
    const Translated request = readMessage(rpc, bytes);
    const auto names = static_cast<size_t>(std::count(request.pattern.begin(), request.pattern.end(), '{'));
    check(names == request.arguments.size());
    for (const std::string_view tensor : request.raw)
      check(tensor.data() >= bytes.data() && tensor.data() + tensor.size() <= bytes.data() + bytes.size());
    if (request.json.empty())
      return;
    const nlohmann::json document = nlohmann::json::parse(request.json);
    uint64_t size = 0;
    if (document.contains("inputs"))
      for (const nlohmann::json &input : document["inputs"])
        size += input["parameters"]["binary_data_size"].get<uint64_t>();
    check(size == request.bodySize() - request.json.size());
  } catch (const MessageError &error) {
    check(*error.what() != 0);
  }
}

void writeAnswer(const Rpc &rpc, std::string_view bytes) {
  for (const bool wantsContents : {false, true})
    try {
      (void)writeMessage(rpc, bytes, std::min(bytes.find('\xff'), bytes.size()), wantsContents);
    } catch (const std::exception &error) {
      check(*error.what() != 0);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const Rpc &rpc = rpcs()[data[0] % rpcs().size()];
  const std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  readRequest(rpc, bytes);
  writeAnswer(rpc, bytes);
  return 0;
}
