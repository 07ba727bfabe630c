#include "run_failure.h"

#include "vx/runtime/vx.hpp"
#include "vx/serve/error.hpp"

#include <new>

namespace vx::serve {
namespace {

ErrorCode codeOf(vx_code code) {
  switch (code) {
  case VX_INVALID_ARGUMENT:
  case VX_FAULT:
    return ErrorCode::invalid_value;
  case VX_OUT_OF_MEMORY:
    return ErrorCode::out_of_memory;
  case VX_DEVICE_LOST:
  case VX_NO_DEVICE:
    return ErrorCode::device_lost;
  case VX_TIMED_OUT:
  case VX_CANCELLED:
    return ErrorCode::deadline;
  default:
    return ErrorCode::internal;
  }
}

} // namespace

ServiceError currentFailure() {
  try {
    throw;
  } catch (const ServiceError &error) {
    return error;
  } catch (const vx::Error &error) {
    ServiceError failure(codeOf(error.code()), error.what());
    failure.addAll(error.details());
    return failure.code == ErrorCode::device_lost ? ServiceError(failure).after(10) : failure;
  } catch (const Error &error) {
    return ServiceError(error.kind() == Error::Kind::argument ? ErrorCode::invalid_value : ErrorCode::internal,
                        error.what());
  } catch (const std::bad_alloc &) {
    return ServiceError(ErrorCode::out_of_memory, "the server has no memory for this request");
  } catch (const std::exception &error) {
    return ServiceError(ErrorCode::internal, error.what());
  }
}

} // namespace vx::serve
