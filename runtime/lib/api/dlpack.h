// The tensors of DLPack 1 (https://dmlc.github.io/dlpack), as other libraries of arrays lay them out, and values of
// them.
#ifndef VX_RUNTIME_API_DLPACK_H
#define VX_RUNTIME_API_DLPACK_H

#include "exec/value.h"

// The names and fields are the standard's.
extern "C" {

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; // in elements
  uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
};
}

namespace vx {

// A value that reads the tensor in place and owns it; after a failure the tensor is the caller's.
Status valueFromDlpack(DLManagedTensorVersioned &tensor, Ref<Value> &value);
// The value's bytes in host memory, or `inPlace` where they are; nobody may write them.
Status valueToDlpack(const Ref<Value> &value, bool inPlace, DLManagedTensorVersioned *&tensor);

} // namespace vx

#endif
