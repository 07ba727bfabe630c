// Values of the tools as the reference evaluator has them, and back.
#ifndef VX_TOOLS_HOST_VALUES_H
#define VX_TOOLS_HOST_VALUES_H

#include "tensor.h"
#include "vx/Reference/HostTensor.h"

namespace vx::tools {

vx_element_type toRuntimeType(reference::ElementType type);

Tensor toTensor(const reference::HostTensor &tensor);
// Of a tensor, a sequence or an optional sequence. The evaluator has a sequence for an optional tensor too.
Value toValue(const reference::HostValue &value);

// No strings.
reference::HostTensor toHostTensor(const Tensor &tensor);
reference::HostValue toHostValue(const Value &value);

} // namespace vx::tools

#endif
