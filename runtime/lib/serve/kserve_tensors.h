// Tensors as KServe's second protocol writes them: as JSON, or as bytes behind it.
#ifndef VX_SERVE_KSERVE_TENSORS_H
#define VX_SERVE_KSERVE_TENSORS_H

#include "service_error.h"

#include "vx/runtime/vx.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vx::serve {

// "FP32" for VX_F32; empty for a type that the protocol has no name for.
std::string_view kserveType(vx_element_type type);
std::optional<vx_element_type> parseKserveType(std::string_view name);

// One of a request's "inputs", for the argument of its name; `where` is "inputs[0]". Takes what it says to be its own
// off the front of `binary`, and reads numbers there in place: `owner` keeps these bytes. Throws
// ErrorCode::invalid_value for any type, size or number that does not fit.
Value readKserveTensor(const nlohmann::json &input, const vx_argument_info &argument, std::string_view &binary,
                       std::string_view where, const std::shared_ptr<const void> &owner);

// Adds one of a response's "outputs" to `json`, and its bytes to `binary` where that is not null. Throws
// ErrorCode::invalid_value for what JSON cannot say: halves, and what is no number.
void writeKserveTensor(std::string &json, std::string_view name, const Value &value, std::string *binary);

// {"name","datatype","shape"} of an argument, -1 for a size that calls decide.
// "FP32[batch,64]"
std::string kserveTypeText(const vx_argument_info &argument);

nlohmann::ordered_json describeArgument(const vx_argument_info &argument);

} // namespace vx::serve

#endif
