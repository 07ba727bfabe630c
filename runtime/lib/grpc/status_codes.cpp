// The status of a call for the code of an error.
#include "messages.h"

#include <algorithm>
#include <array>

namespace vx::grpc_wire {
namespace {

// The numbers of gRPC's own protocol. This file has no header of gRPC, so that tests of messages need none.
enum Status {
  cancelledStatus = 1,
  invalidArgument = 3,
  deadlineExceeded = 4,
  notFound = 5,
  permissionDenied = 7,
  resourceExhausted = 8,
  aborted = 10,
  unimplemented = 12,
  internalStatus = 13,
  unavailable = 14,
  unauthenticated = 16
};

struct CodeRow {
  std::string_view code;
  Status status;
};

constexpr std::array codes = {
    CodeRow{"bad_request", invalidArgument},
    CodeRow{"invalid_json", invalidArgument},
    CodeRow{"invalid_value", invalidArgument},
    CodeRow{"context_length_exceeded", invalidArgument},
    CodeRow{"invalid_api_key", unauthenticated},
    CodeRow{"forbidden", permissionDenied},
    CodeRow{"not_found", notFound},
    CodeRow{"model_not_found", notFound},
    CodeRow{"method_not_allowed", unimplemented},
    CodeRow{"request_timeout", deadlineExceeded},
    CodeRow{"conflict", aborted},
    CodeRow{"cancelled", cancelledStatus},
    CodeRow{"body_too_large", resourceExhausted},
    CodeRow{"unsupported_media_type", invalidArgument},
    CodeRow{"rate_limited", resourceExhausted},
    CodeRow{"queue_full", resourceExhausted},
    CodeRow{"headers_too_large", resourceExhausted},
    CodeRow{"internal", internalStatus},
    CodeRow{"loading", unavailable},
    CodeRow{"draining", unavailable},
    CodeRow{"device_lost", unavailable},
    CodeRow{"deadline", deadlineExceeded},
    CodeRow{"out_of_memory", resourceExhausted},
};

} // namespace

int statusOfCode(std::string_view code) {
  const auto place = std::find_if(codes.begin(), codes.end(), [&](const CodeRow &row) { return row.code == code; });
  return place == codes.end() ? internalStatus : place->status;
}

bool isNotReady(const Rpc &rpc, std::string_view code) {
  const bool isState = code == "loading" || code == "draining" || code == "device_lost";
  return isState && (rpc.kind == RpcKind::serverReady || rpc.kind == RpcKind::modelReady);
}

} // namespace vx::grpc_wire
