// Elements of a tensor in the typed fields of a message, and as the bytes that HTTP has for them.
#ifndef VX_GRPC_TENSOR_CONTENTS_H
#define VX_GRPC_TENSOR_CONTENTS_H

#include "kserve.pb.h"
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace vx::grpc_wire {

// Whether a type has a typed field: all of the protocol's but FP16 and BF16.
bool hasContentsType(std::string_view datatype);
// Whether any of the fields has an element.
bool hasContents(const inference::InferTensorContents &contents);
// Appends the elements of the field of a type. Throws MessageError if another field has elements, or if an element is
// out of the range of the type. Of a type that is not known it appends nothing.
void appendContents(std::string &bytes, const std::string &datatype, const inference::InferTensorContents &contents,
                    const std::string &where);
// The opposite. Throws std::runtime_error for bytes that are none of the type.
void setContents(inference::InferTensorContents &contents, std::string_view datatype, std::string_view bytes);

} // namespace vx::grpc_wire

#endif
