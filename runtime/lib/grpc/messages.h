// Messages of KServe's protocol over gRPC, as the requests and answers of HTTP that mean the same.
#ifndef VX_GRPC_MESSAGES_H
#define VX_GRPC_MESSAGES_H

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vx::grpc_wire {

enum class RpcKind : uint8_t {
  serverLive,
  serverReady,
  modelReady,
  serverMetadata,
  modelMetadata,
  modelInfer,
  repositoryIndex,
  repositoryLoad,
  repositoryUnload
};

// A function of the service, and the request over HTTP that it stands for.
struct Rpc {
  std::string_view name; // "/inference.GRPCInferenceService/ModelInfer"
  RpcKind kind;
  std::string_view method, pattern; // "POST", "/v2/models/{}/infer"
};

std::span<const Rpc> rpcs();
// Null: the service has no such function here.
const Rpc *findRpc(std::string_view name);
// Why `findRpc` found nothing, for the client.
std::string describeMissing(std::string_view name);

// A message that is wrong. `code` is one of the server's codes of errors.
struct MessageError : std::runtime_error {
  explicit MessageError(const std::string &message) : std::runtime_error(message) {}
  static constexpr std::string_view code = "invalid_value";
};

// A message as a request.
struct Translated {
  std::string pattern;                // that of the function, or the one with a version
  std::vector<std::string> arguments; // one for each {}
  // The body: JSON, and after it the bytes of tensors, within the message or of typed contents.
  std::string json;
  std::vector<std::string_view> raw;
  std::string contents;
  bool wantsContents = false; // the answer has typed contents in place of raw ones, as the request has

  uint64_t bodySize() const;
};

// About the bytes that a message takes when it is read: many empty entries take more memory than they have bytes. Gives
// at least the size of the message, also for one that is wrong.
uint64_t memoryOf(const Rpc &rpc, std::string_view message);

// Throws MessageError for bytes that are no message of the function, or that have no meaning as a request. The result
// has parts of the message in place.
Translated readMessage(const Rpc &rpc, std::string_view message);

// The message of an answer that succeeded. `jsonSize` is the length of the JSON in the body. Throws std::runtime_error
// for a body that the server should not send.
std::string writeMessage(const Rpc &rpc, std::string_view body, uint64_t jsonSize, bool wantsContents);

// True for ServerReady and ModelReady where HTTP has an error with such a code: they answer that the server or the
// model is not ready. That message has no bytes.
bool isNotReady(const Rpc &rpc, std::string_view code);

// The number of gRPC's status for a code of the server's errors; that of INTERNAL for a code that is not known.
int statusOfCode(std::string_view code);

} // namespace vx::grpc_wire

#endif
