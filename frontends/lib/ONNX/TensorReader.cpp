#include "TensorReader.h"

#include "DimMath.h"
#include "ImportError.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinTypes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/base/utf8.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <array>

using namespace mlir;

namespace vx::onnx {

StringRef getDataTypeName(int32_t dataType) {
  static constexpr StringLiteral names[] = {
      "undefined",      "float",      "uint8",          "int8",       "uint16",    "int16",
      "int32",          "int64",      "string",         "bool",       "float16",   "double",
      "uint32",         "uint64",     "complex64",      "complex128", "bfloat16",  "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",      "float4e2m1",
      "float8e8m0",     "uint2",      "int2",           "float6e2m3", "float6e3m2"};
  if (dataType < 0 || dataType >= static_cast<int32_t>(std::size(names)))
    return "unknown";
  return names[dataType];
}

Type getElementType(MLIRContext *context, int32_t dataType, const Twine &what) {
  auto getUnsigned = [&](unsigned width) { return IntegerType::get(context, width, IntegerType::Unsigned); };
  switch (dataType) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::UINT8:
    return getUnsigned(8);
  case TensorProto::INT8:
    return IntegerType::get(context, 8);
  case TensorProto::UINT16:
    return getUnsigned(16);
  case TensorProto::INT16:
    return IntegerType::get(context, 16);
  case TensorProto::INT32:
    return IntegerType::get(context, 32);
  case TensorProto::INT64:
    return IntegerType::get(context, 64);
  case TensorProto::BOOL:
    return IntegerType::get(context, 1);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::UINT32:
    return getUnsigned(32);
  case TensorProto::UINT64:
    return getUnsigned(64);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TensorProto::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TensorProto::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case TensorProto::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TensorProto::UINT4:
    return getUnsigned(4);
  case TensorProto::INT4:
    return IntegerType::get(context, 4);
  case TensorProto::FLOAT4E2M1:
    return Float4E2M1FNType::get(context);
  case TensorProto::FLOAT8E8M0:
    return Float8E8M0FNUType::get(context);
  case TensorProto::UINT2:
    return getUnsigned(2);
  case TensorProto::INT2:
    return IntegerType::get(context, 2);
  case TensorProto::STRING:
    return StringType::get(context);
  case TensorProto::COMPLEX64:
  case TensorProto::COMPLEX128:
    throwUnsupported(Advice::SplitComplex,
                     what + " has " + getDataTypeName(dataType) + " elements, expected numbers, bools or strings");
  case TensorProto::FLOAT6E2M3:
  case TensorProto::FLOAT6E3M2:
    refuseSixBits(dataType, what);
  default:
    throwInvalid(what + " has an unknown element type: expected 1 to " + Twine(newestDataType) + ", got " +
                 Twine(dataType));
  }
}

void refuseSixBits(int32_t dataType, const Twine &what) {
  throwUnsupported(Advice::CastElements, what + " has " + getDataTypeName(dataType) +
                                             " elements, of which vx has constants that Cast and DequantizeLinear "
                                             "read, and no other values");
}

int32_t getDataType(Type elementType) {
  for (int32_t type = 1; type <= newestDataType; ++type)
    if (type != TensorProto::COMPLEX64 && type != TensorProto::COMPLEX128 && !hasSixBits(type) &&
        getElementType(elementType.getContext(), type, "") == elementType)
      return type;
  return TensorProto::UNDEFINED;
}

/// Returns the bits of one element in storage: a bool is one byte.
static unsigned getStoredBits(Type elementType) {
  return elementType.isInteger(1) ? 8 : elementType.getIntOrFloatBitWidth();
}

static uint64_t getByteSize(Type elementType, int64_t count) {
  return llvm::divideCeil(uint64_t(count) * getStoredBits(elementType), 8);
}

std::shared_ptr<llvm::MemoryBuffer> TensorReader::open(StringRef location, StringRef name) {
  auto known = files.find(location);
  if (known != files.end())
    return known->second;
  namespace path = llvm::sys::path;
  namespace fs = llvm::sys::fs;
  if (folder.empty())
    throwInvalid("tensor '" + name + "': its data is in '" + location + "', but the model has no folder",
                 Advice::RestoreData);
  bool climbs = llvm::any_of(llvm::make_range(path::begin(location), path::end(location)),
                             [](StringRef part) { return part == ".."; });
  if (location.empty() || path::is_absolute(location) || climbs || location.contains('\0') || location.contains('\\'))
    throwInvalid("tensor '" + name + "': expects external data at a plain path inside of the model's folder, got '" +
                     location + "'",
                 Advice::RestoreData);
  SmallString<256> file(folder), realFile, realFolder;
  path::append(file, location);
  if (std::error_code error = fs::real_path(folder, realFolder))
    throwInvalid("tensor '" + name + "': cannot open the model's folder '" + folder + "': " + error.message(),
                 Advice::RestoreData);
  if (std::error_code error = fs::real_path(file, realFile))
    throwInvalid("tensor '" + name + "': cannot open external data '" + location + "': " + error.message(),
                 Advice::RestoreData);
  if (!realFolder.ends_with("/"))
    realFolder += '/';
  if (!realFile.str().starts_with(realFolder))
    throwInvalid("tensor '" + name + "': expects external data inside of the model's folder, but '" + location +
                     "' links to a place outside of it",
                 Advice::RestoreData);
  if (!fs::is_regular_file(realFile))
    throwInvalid("tensor '" + name + "': expects external data '" + location + "' to be a regular file",
                 Advice::RestoreData);
  auto buffer = llvm::MemoryBuffer::getFile(realFile, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    throwInvalid("tensor '" + name + "': cannot open external data '" + location + "': " + buffer.getError().message(),
                 Advice::RestoreData);
  return files[location] = std::move(*buffer);
}

TensorReader::Bytes TensorReader::readExternal(const TensorProto &tensor, StringRef name, uint64_t want) {
  StringRef location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    if (key == "location") {
      location = value;
    } else if (key == "offset" || key == "length") {
      uint64_t number;
      if (value.getAsInteger(10, number))
        throwInvalid("tensor '" + name + "': expects '" + key + "' of its external data to be a number, got '" + value +
                         "'",
                     Advice::RestoreData);
      if (key == "offset")
        offset = number;
      else
        length = number;
    }
  }
  std::shared_ptr<llvm::MemoryBuffer> file = open(location, name);
  uint64_t size = file->getBufferSize();
  if (offset > size)
    throwInvalid("tensor '" + name + "': expects its external data at offset " + Twine(offset) + ", but '" + location +
                     "' has " + Twine(size) + " bytes",
                 Advice::RestoreData);
  uint64_t got = length.value_or(size - offset);
  if (got != want)
    throwInvalid("tensor '" + name + "': expects " + Twine(want) + " bytes of external data, got " + Twine(got),
                 Advice::RestoreData);
  if (want > size - offset)
    throwInvalid("tensor '" + name + "': expects " + Twine(want) + " bytes at offset " + Twine(offset) + " of '" +
                     location + "', but the file has " + Twine(size) + " bytes",
                 Advice::RestoreData);
  return {ArrayRef<char>(file->getBufferStart() + offset, want), file};
}

namespace {
/// Collects elements of one width in little-endian order.
class ByteWriter {
public:
  explicit ByteWriter(uint64_t size) { bytes->reserve(size); }
  template <typename T>
  void append(T value) {
    const char *data = reinterpret_cast<const char *>(&value);
    bytes->append(data, sizeof(T));
  }
  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
};
} // namespace

TensorReader::Bytes TensorReader::readTyped(const TensorProto &tensor, StringRef name, Type elementType,
                                            int64_t count) {
  ByteWriter writer(0);
  auto copy = [&](const auto &field, uint64_t want, auto convert) {
    if (static_cast<uint64_t>(field.size()) != want)
      throwInvalid("tensor '" + name + "': expects " + Twine(want) + " values, got " + Twine(field.size()));
    writer = ByteWriter(getByteSize(elementType, count));
    for (auto value : field)
      writer.append(convert(value));
  };
  unsigned bits = getStoredBits(elementType);
  if (bits < 32 && !elementType.isInteger(1))
    for (int32_t value : tensor.int32_data()) // with or without a sign, as writers have it
      if (value < -(1 << (std::max(bits, 8u) - 1)) || value >= 1 << std::max(bits, 8u))
        throwInvalid("tensor '" + name + "': expects values of " + Twine(std::max(bits, 8u)) + " bits, got " +
                     Twine(value));
  if (elementType.isF32())
    copy(tensor.float_data(), count, [](float v) { return v; });
  else if (elementType.isF64())
    copy(tensor.double_data(), count, [](double v) { return v; });
  else if (elementType.isInteger(64) && !elementType.isUnsignedInteger())
    copy(tensor.int64_data(), count, [](int64_t v) { return v; });
  else if (elementType.isUnsignedInteger(64))
    copy(tensor.uint64_data(), count, [](uint64_t v) { return v; });
  else if (elementType.isUnsignedInteger(32))
    copy(tensor.uint64_data(), count, [](uint64_t v) { return uint32_t(v); });
  else if (bits == 32)
    copy(tensor.int32_data(), count, [](int32_t v) { return v; });
  else if (bits == 16)
    copy(tensor.int32_data(), count, [](int32_t v) { return uint16_t(v); });
  else if (elementType.isInteger(1))
    copy(tensor.int32_data(), count, [](int32_t v) { return uint8_t(v != 0); });
  else // 8 bits, or packed bytes of narrower elements
    copy(tensor.int32_data(), getByteSize(elementType, count), [](int32_t v) { return uint8_t(v); });
  return {ArrayRef<char>(writer.bytes->data(), writer.bytes->size()), writer.bytes};
}

/// Refuses values in two fields, since it is not defined which ones count.
static void checkFields(const TensorProto &tensor, StringRef name) {
  SmallVector<StringRef> fields;
  for (auto [isThere, field] : {std::pair(tensor.has_raw_data(), StringRef("raw_data")),
                                {tensor.float_data_size() > 0, "float_data"},
                                {tensor.int32_data_size() > 0, "int32_data"},
                                {tensor.int64_data_size() > 0, "int64_data"},
                                {tensor.uint64_data_size() > 0, "uint64_data"},
                                {tensor.double_data_size() > 0, "double_data"},
                                {tensor.string_data_size() > 0, "string_data"}})
    if (isThere)
      fields.push_back(field);
  if (fields.size() > 1)
    throwInvalid("tensor '" + name + "': expects its values in one field, got some in " + fields[0] + " and in " +
                 fields[1]);
}

TensorReader::Bytes TensorReader::readBytes(const TensorProto &tensor, StringRef name, Type elementType,
                                            int64_t count) {
  uint64_t want = getByteSize(elementType, count);
  if (tensor.data_location() == TensorProto::EXTERNAL)
    return readExternal(tensor, name, want);
  checkFields(tensor, name);
  if (!tensor.has_raw_data())
    return readTyped(tensor, name, elementType, count);
  const std::string &raw = tensor.raw_data();
  if (raw.size() != want)
    throwInvalid("tensor '" + name + "': expects " + Twine(want) + " bytes of raw data, got " + Twine(raw.size()));
  return {ArrayRef<char>(raw.data(), raw.size()), owner};
}

/// Returns the bits of element `index` of little-endian data. Packed elements begin in the low bits.
static APInt readBits(ArrayRef<char> data, int64_t index, unsigned bits) {
  if (bits < 8) {
    unsigned perByte = 8 / bits;
    return APInt(bits, (uint8_t(data[index / perByte]) >> (index % perByte * bits)) & ((1u << bits) - 1));
  }
  uint64_t value = 0;
  memcpy(&value, data.data() + index * (bits / 8), bits / 8);
  return APInt(bits, value);
}

static DenseElementsAttr makeInline(RankedTensorType type, ArrayRef<char> data) {
  Type elementType = type.getElementType();
  unsigned bits = getStoredBits(elementType);
  int64_t count = type.getNumElements();
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    SmallVector<APFloat> values;
    for (int64_t i = 0; i < count; ++i)
      values.emplace_back(floatType.getFloatSemantics(), readBits(data, i, bits));
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  for (int64_t i = 0; i < count; ++i) {
    APInt value = readBits(data, i, bits);
    values.push_back(elementType.isInteger(1) ? APInt(1, !value.isZero()) : value);
  }
  return DenseElementsAttr::get(type, values);
}

RankedTensorType TensorReader::readType(const TensorProto &tensor, StringRef name) {
  return readShape(tensor, name, getElementType(context, tensor.data_type(), "tensor '" + name + "'"));
}

RankedTensorType TensorReader::readShape(const TensorProto &tensor, StringRef name, Type elementType) {
  if (tensor.has_segment())
    throwUnsupported(Advice::StoreDense, "tensor '" + name + "' is stored in segments, expected whole tensors");
  if (tensor.dims_size() > maxRank)
    throwUnsupported(Advice::SplitModel, "tensor '" + name + "': expects at most " + Twine(maxRank) +
                                             " dimensions, got " + Twine(tensor.dims_size()));
  int64_t count = 1;
  for (int64_t dim : tensor.dims()) {
    if (dim < 0)
      throwInvalid("tensor '" + name + "': expects dimensions of at least 0, got " + Twine(dim));
    if (dim > 0 && (llvm::MulOverflow(count, dim, count) || count > maxElements))
      throwInvalid("tensor '" + name + "': expects at most " + Twine(maxElements) + " elements, got more");
  }
  return RankedTensorType::get(ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()), elementType);
}

TensorReader::Bytes TensorReader::readExternal(const TensorProto &tensor, StringRef name) {
  RankedTensorType type = readType(tensor, name);
  return readExternal(tensor, name, getByteSize(type.getElementType(), type.getNumElements()));
}

static DenseElementsAttr readStrings(const TensorProto &tensor, StringRef name, RankedTensorType type) {
  if (tensor.data_location() == TensorProto::EXTERNAL || tensor.has_raw_data())
    throwInvalid("tensor '" + name + "': expects its strings in the model, as strings");
  if (tensor.string_data_size() != type.getNumElements())
    throwInvalid("tensor '" + name + "': expects " + Twine(type.getNumElements()) + " strings, got " +
                 Twine(tensor.string_data_size()));
  SmallVector<StringRef> texts(tensor.string_data().begin(), tensor.string_data().end());
  for (auto [index, text] : llvm::enumerate(texts))
    if (!isUtf8(text))
      throwInvalid("tensor '" + name + "': string " + Twine(index) + " is no UTF-8");
  return DenseStringElementsAttr::get(type, texts);
}

DenseElementsAttr TensorReader::readInline(const TensorProto &tensor, StringRef name) {
  RankedTensorType type = readType(tensor, name);
  if (isa<StringType>(type.getElementType()))
    return readStrings(tensor, name, type);
  return makeInline(type, readBytes(tensor, name, type.getElementType(), type.getNumElements()).data);
}

/// Four elements are a group of three bytes, the first one in the low bits; in int32_data each has a number of its own.
ElementsAttr TensorReader::readSixBits(const TensorProto &tensor, StringRef name) {
  RankedTensorType type = readShape(tensor, name, Float8E4M3FNType::get(context));
  const int64_t count = type.getNumElements();
  const uint64_t want = llvm::divideCeil(uint64_t(count) * 6, 8);
  std::string codes;
  if (tensor.data_location() == TensorProto::EXTERNAL || tensor.has_raw_data()) {
    Bytes bytes;
    if (tensor.data_location() == TensorProto::EXTERNAL)
      bytes = readExternal(tensor, name, want);
    else
      bytes.data = ArrayRef<char>(tensor.raw_data().data(), tensor.raw_data().size());
    checkFields(tensor, name);
    if (bytes.data.size() != want)
      throwInvalid("tensor '" + name + "': expects " + Twine(want) + " bytes of raw data, got " +
                   Twine(bytes.data.size()));
    for (int64_t index = 0; index < count; ++index) {
      const uint64_t first = uint64_t(index) * 6 / 8, shift = uint64_t(index) * 6 % 8;
      unsigned bits = uint8_t(bytes.data[first]);
      if (shift > 2)
        bits |= unsigned(uint8_t(bytes.data[first + 1])) << 8;
      codes.push_back(char(bits >> shift & 0x3f));
    }
  } else {
    checkFields(tensor, name);
    if (tensor.int32_data_size() != count)
      throwInvalid("tensor '" + name + "': expects " + Twine(count) + " values, got " +
                   Twine(tensor.int32_data_size()));
    for (int32_t value : tensor.int32_data()) {
      if (value < 0 || value > 0x3f)
        throwInvalid("tensor '" + name + "': expects values of 6 bits without a sign, got " + Twine(value));
      codes.push_back(char(value));
    }
  }
  const llvm::fltSemantics &from =
      tensor.data_type() == TensorProto::FLOAT6E2M3 ? APFloat::Float6E2M3FN() : APFloat::Float6E3M2FN();
  std::array<char, 64> table;
  for (unsigned code = 0; code < table.size(); ++code) {
    APFloat number(from, APInt(6, code));
    bool isRounded = false;
    number.convert(APFloat::Float8E4M3FN(), APFloat::rmNearestTiesToEven, &isRounded);
    table[code] = char(number.bitcastToAPInt().getZExtValue());
  }
  for (char &code : codes)
    code = table[uint8_t(code)];
  if (count <= maxInlineElements)
    return makeInline(type, codes);
  return DenseResourceElementsAttr::get(type, name, HeapAsmResourceBlob::allocateAndCopyWithAlign(codes, 1));
}

ElementsAttr TensorReader::read(const TensorProto &tensor, StringRef name) {
  if (hasSixBits(tensor.data_type()))
    return readSixBits(tensor, name);
  RankedTensorType type = readType(tensor, name);
  Type elementType = type.getElementType();
  if (isa<StringType>(elementType))
    return readStrings(tensor, name, type);
  int64_t count = type.getNumElements();
  Bytes bytes = readBytes(tensor, name, elementType, count);
  if (count <= maxInlineElements)
    return makeInline(type, bytes.data);

  unsigned align = std::max(1u, getStoredBits(elementType) / 8);
  bool isAligned = reinterpret_cast<uintptr_t>(bytes.data.data()) % align == 0;
  bool isBool = elementType.isInteger(1);
  if (!isAligned || (isBool && llvm::any_of(bytes.data, [](char byte) { return byte != 0 && byte != 1; }))) {
    AsmResourceBlob copy = HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes.data, align);
    if (isBool)
      for (char &byte : copy.getMutableData())
        byte = byte != 0;
    return DenseResourceElementsAttr::get(type, name, std::move(copy));
  }
  auto keepAlive = [owner = bytes.owner](void *, size_t, size_t) {};
  return DenseResourceElementsAttr::get(
      type, name, UnmanagedAsmResourceBlob::allocateWithAlign(bytes.data, align, std::move(keepAlive)));
}

} // namespace vx::onnx
