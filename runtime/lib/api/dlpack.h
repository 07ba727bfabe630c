// Values of other libraries' tensors, and tensors for them.
#ifndef VX_RUNTIME_API_DLPACK_H
#define VX_RUNTIME_API_DLPACK_H

#include "api/dlpack_tensor.h"
#include "exec/value.h"

namespace vx {

// A value that reads the tensor in place and owns it; after a failure the tensor is the caller's.
Status valueFromDlpack(DLManagedTensorVersioned &tensor, Ref<Value> &value);
// The value's bytes in host memory, or `inPlace` where they are; nobody may write them.
Status valueToDlpack(const Ref<Value> &value, bool inPlace, DLManagedTensorVersioned *&tensor);

} // namespace vx

#endif
