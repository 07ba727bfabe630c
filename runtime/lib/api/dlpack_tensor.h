// The tensors of DLPack 1 (https://dmlc.github.io/dlpack), as other libraries of arrays lay them out.
#ifndef VX_RUNTIME_API_DLPACK_TENSOR_H
#define VX_RUNTIME_API_DLPACK_TENSOR_H

#include <cstdint>

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

#endif
