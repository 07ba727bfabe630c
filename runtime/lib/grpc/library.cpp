// What the server opens.
#include "server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace vx::grpc_wire {
namespace {

Server &serverOf(vx_grpc_server *server) { return *reinterpret_cast<Server *>(server); }
Call &callOf(vx_grpc_call *call) { return *reinterpret_cast<Call *>(call); }

vx_grpc_server *start(const vx_grpc_options *options, const vx_grpc_host *host) {
  try {
    return reinterpret_cast<vx_grpc_server *>(new Server(*options, *host));
  } catch (const std::exception &error) {
    const size_t size = std::min<size_t>(std::strlen(error.what()), static_cast<size_t>(options->message_size) - 1);
    std::memcpy(options->message, error.what(), size);
    options->message[size] = 0;
    return nullptr;
  }
}

} // namespace
} // namespace vx::grpc_wire

extern "C" __attribute__((visibility("default"))) const vx_grpc_functions vx_grpc_library;
const vx_grpc_functions vx_grpc_library = {
    .version = VX_GRPC_VERSION,
    .start = vx::grpc_wire::start,
    .set_certificate =
        [](vx_grpc_server *server, vx_grpc_text certificate, vx_grpc_text key) {
          vx::grpc_wire::serverOf(server).setCertificate(vx::grpc_wire::viewOf(certificate),
                                                         vx::grpc_wire::viewOf(key));
        },
    .drain =
        [](vx_grpc_server *server, uint64_t milliseconds) {
          vx::grpc_wire::serverOf(server).drain(std::chrono::milliseconds(milliseconds));
        },
    .stop = [](vx_grpc_server *server) { delete &vx::grpc_wire::serverOf(server); },
    .answer = [](vx_grpc_call *call, const vx_grpc_answer *answer) { vx::grpc_wire::callOf(call).answer(*answer); },
    .release = [](vx_grpc_call *call) { vx::grpc_wire::callOf(call).release(); },
};
