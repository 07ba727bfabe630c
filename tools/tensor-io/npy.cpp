#include "npy.h"

#include "input_file.h"
#include "tool_error.h"
#include "vx/base/npy_header.h"

#include <algorithm>
#include <cstring>

namespace vx::tools {

static constexpr char Magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static vx_element_type elementType(const std::string &path, const NpyHeader &header, vx_element_type wanted) {
  static constexpr struct {
    char kind;
    uint64_t size;
    vx_element_type type;
  } types[] = {{'b', 1, VX_BOOL}, {'i', 1, VX_I8},  {'i', 2, VX_I16}, {'i', 4, VX_I32},
               {'i', 8, VX_I64},  {'u', 1, VX_U8},  {'u', 2, VX_U16}, {'u', 4, VX_U32},
               {'u', 8, VX_U64},  {'f', 2, VX_F16}, {'f', 4, VX_F32}, {'f', 8, VX_F64}};
  for (const auto &known : types)
    if (known.kind == header.kind && known.size == header.itemSize)
      return known.type;
  if (header.kind == 'V' && vx_element_type_bits(wanted) == header.itemSize * 8)
    return wanted;
  throw fileError("{}: .npy element type '{}{}' is not supported", path, header.kind, header.itemSize);
}

// Rows of the last dimension first become rows of the first one.
static std::vector<uint8_t> fromFortranOrder(std::span<const uint8_t> bytes, const std::vector<int64_t> &dims,
                                             uint64_t itemSize) {
  std::vector<uint8_t> result(bytes.size());
  std::vector<int64_t> position(dims.size(), 0);
  std::vector<uint64_t> strides(dims.size());
  uint64_t stride = itemSize;
  for (size_t i = 0; i < dims.size(); ++i) {
    strides[i] = stride;
    stride *= static_cast<uint64_t>(dims[i]);
  }
  for (uint64_t out = 0; out < result.size(); out += itemSize) {
    uint64_t in = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      in += static_cast<uint64_t>(position[i]) * strides[i];
    std::memcpy(result.data() + out, bytes.data() + in, itemSize);
    for (size_t i = dims.size(); i-- > 0;) {
      if (++position[i] < dims[i])
        break;
      position[i] = 0;
    }
  }
  return result;
}

Tensor parseNpy(const std::string &path, std::span<const uint8_t> bytes, vx_element_type wanted) {
  NpyHeader header;
  if (std::string error; !parseNpyHeader(bytes, header, error))
    throw fileError("{}: {}", path, error);
  Tensor tensor;
  tensor.type = elementType(path, header, wanted);
  tensor.dims = header.dims;
  const std::span<const uint8_t> data = bytes.subspan(header.dataOffset);
  const std::optional<uint64_t> count = elementCount(tensor.type, tensor.dims);
  if (!count)
    throw fileError("{}: {} is too large", path, typeText(tensor.type, tensor.dims));
  if (data.size() != *count * header.itemSize)
    throw fileError("{}: expected {} bytes of data for {}, got {}", path, *count * header.itemSize,
                    typeText(tensor.type, tensor.dims), data.size());

  tensor.bytes = header.fortranOrder && *count > 0 ? fromFortranOrder(data, tensor.dims, header.itemSize)
                                                   : std::vector<uint8_t>(data.begin(), data.end());
  if (header.order == '>')
    for (size_t i = 0; i < tensor.bytes.size(); i += header.itemSize)
      std::reverse(tensor.bytes.begin() + static_cast<ptrdiff_t>(i),
                   tensor.bytes.begin() + static_cast<ptrdiff_t>(i + header.itemSize));

  // One byte per element becomes a packed tensor.
  if (vx_element_type_bits(wanted) < 8 && vx_element_type_bits(wanted) > 0 && header.itemSize == 1 &&
      tensor.type != VX_BOOL) {
    Tensor packed{wanted, tensor.dims, std::vector<uint8_t>(byteCount(wanted, *count))};
    const uint32_t bits = vx_element_type_bits(wanted);
    for (uint64_t i = 0; i < *count; ++i)
      packed.bytes[i * bits / 8] =
          static_cast<uint8_t>(packed.bytes[i * bits / 8] | (tensor.bytes[i] & ((1u << bits) - 1)) << (i * bits % 8));
    return packed;
  }
  return tensor;
}

Tensor readNpy(const std::string &path, vx_element_type wanted) { return parseNpy(path, readFile(path), wanted); }

static const char *description(vx_element_type type) {
  switch (type) {
  case VX_BOOL:
    return "|b1";
  case VX_I8:
  case VX_I4:
  case VX_I2:
    return "|i1";
  case VX_I16:
    return "<i2";
  case VX_I32:
    return "<i4";
  case VX_I64:
    return "<i8";
  case VX_U8:
  case VX_U4:
  case VX_U2:
  case VX_F4E2M1:
    return "|u1";
  case VX_U16:
    return "<u2";
  case VX_U32:
    return "<u4";
  case VX_U64:
    return "<u8";
  case VX_F16:
    return "<f2";
  case VX_F32:
    return "<f4";
  case VX_F64:
    return "<f8";
  case VX_BF16:
    return "<V2";
  default:
    return "|V1";
  }
}

std::vector<uint8_t> formatNpyHeader(vx_element_type type, std::span<const int64_t> dims) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", description(type));
  for (int64_t dim : dims)
    header += fmt::format("{}, ", dim);
  // A tuple of one keeps its comma, longer ones end without.
  if (dims.size() == 1)
    header.pop_back();
  else if (!dims.empty())
    header.resize(header.size() - 2);
  header += "), }";
  // The data begins at a multiple of 64.
  const size_t prefix = sizeof(Magic) + 2 + 4;
  header.resize((prefix + header.size() + 1 + 63) / 64 * 64 - prefix - 1, ' ');
  header += '\n';

  std::vector<uint8_t> bytes(Magic, Magic + sizeof(Magic));
  bytes.push_back(2);
  bytes.push_back(0);
  for (int i = 0; i < 4; ++i)
    bytes.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  return bytes;
}

std::vector<uint8_t> formatNpy(const Tensor &tensor) {
  if (tensor.type == VX_STRING)
    throw usageError("{} cannot be written as .npy, expected a .pb file", typeText(tensor.type, tensor.dims));
  std::vector<uint8_t> bytes = formatNpyHeader(tensor.type, tensor.dims);
  const uint32_t bits = vx_element_type_bits(tensor.type);
  if (bits >= 8) {
    bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  } else {
    const bool raw = tensor.type == VX_F4E2M1;
    const uint64_t count = elementCount(tensor.type, tensor.dims).value_or(0);
    for (uint64_t i = 0; i < count; ++i) {
      const int code = tensor.bytes[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
      bytes.push_back(static_cast<uint8_t>(raw ? code : static_cast<int>(elementAsDouble(tensor, i))));
    }
  }
  return bytes;
}

} // namespace vx::tools
