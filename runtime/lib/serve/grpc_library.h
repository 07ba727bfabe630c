// libvx_grpc, which is opened if a port for gRPC is configured.
#ifndef VX_SERVE_GRPC_LIBRARY_H
#define VX_SERVE_GRPC_LIBRARY_H

#include "vx/abi/grpc.h"

namespace vx::serve {

// The library's functions; it stays open. Throws Error::io with the reason if it cannot be opened, or if this server
// was built without it.
const vx_grpc_functions &openGrpcLibrary();

} // namespace vx::serve

#endif
