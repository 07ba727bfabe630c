// What a client is told of a failure that somebody threw.
#ifndef VX_SERVE_RUN_FAILURE_H
#define VX_SERVE_RUN_FAILURE_H

#include "service_error.h"

namespace vx::serve {

// The failure of the catch clause that calls it: the runtime's by their codes, an Error::argument as the client's.
ServiceError currentFailure();

} // namespace vx::serve

#endif
