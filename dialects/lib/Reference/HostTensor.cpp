#include "vx/Reference/HostTensor.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <bit>
#include <cstring>
#include <mutex>

using namespace mlir;

// Elements are copied between words and storage as they are.
static_assert(std::endian::native == std::endian::little);

namespace vx::reference {

HostTensor::HostTensor(ElementType type, llvm::ArrayRef<int64_t> dims) : elementType(type), shape(dims) {
  int64_t numBits = getStorageBits(type);
  bool fits = true;
  for (int64_t size : dims) {
    fits = fits && !llvm::MulOverflow(numBits, size, numBits);
    numElements = fits ? numElements * size : 0;
  }
  // What 64 bits do not count no allocator has: it then fails as for any tensor that is too large.
  bytes = std::make_shared<std::vector<uint8_t>>(fits ? llvm::divideCeil(numBits, int64_t(8)) : PTRDIFF_MAX);
}

HostTensor HostTensor::scalar(int64_t value) {
  HostTensor tensor(ElementType::I64, {});
  tensor.setInt(0, value);
  return tensor;
}

HostTensor HostTensor::scalar(bool value) {
  HostTensor tensor(ElementType::Bool, {});
  tensor.setInt(0, value);
  return tensor;
}

std::string HostTensor::describe() const {
  std::string text = (getName(elementType) + "[").str();
  for (auto [index, size] : llvm::enumerate(shape))
    text += (index ? "," : "") + std::to_string(size);
  return text + "]";
}

llvm::MutableArrayRef<uint8_t> HostTensor::getMutableBytes() {
  if (bytes.use_count() > 1)
    bytes = std::make_shared<std::vector<uint8_t>>(*bytes);
  return *bytes;
}

uint64_t HostTensor::getBits(int64_t index) const {
  unsigned width = getStorageBits(elementType);
  if (width < 8) {
    int64_t bit = index * width;
    return ((*bytes)[bit / 8] >> (bit % 8)) & ((1u << width) - 1);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes->data() + index * (width / 8), width / 8);
  return bits;
}

void HostTensor::setBits(int64_t index, uint64_t bits) {
  unsigned width = getStorageBits(elementType);
  llvm::MutableArrayRef<uint8_t> storage = getMutableBytes();
  if (width < 8) {
    int64_t bit = index * width;
    uint8_t mask = ((1u << width) - 1) << (bit % 8);
    uint8_t &byte = storage[bit / 8];
    byte = (byte & ~mask) | ((bits << (bit % 8)) & mask);
    return;
  }
  std::memcpy(storage.data() + index * (width / 8), &bits, width / 8);
}

/// An integer as f64, rounded to odd: the bits that are cut off leave a mark in the last one that stays, so that a
/// later rounding to fewer bits sees on which side of a tie the number lies.
static double roundToOdd(bool negative, uint64_t magnitude) {
  if (magnitude >> 53) {
    unsigned shift = 11 - llvm::countl_zero(magnitude);
    uint64_t kept = magnitude >> shift;
    if (kept << shift != magnitude)
      kept |= 1;
    magnitude = kept << shift;
  }
  double value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

double HostTensor::getFloat(int64_t index) const {
  if (isFloat(elementType))
    return decodeFloat(elementType, getBits(index));
  int64_t value = getInt(index);
  bool negative = isSigned(elementType) && value < 0;
  return roundToOdd(negative, negative ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
}

int64_t HostTensor::getInt(int64_t index) const { return wrapInt(elementType, static_cast<int64_t>(getBits(index))); }

void HostTensor::setFloat(int64_t index, double value) { setBits(index, encodeFloat(elementType, value)); }

void HostTensor::setInt(int64_t index, int64_t value) {
  setBits(index, static_cast<uint64_t>(wrapInt(elementType, value)));
}

HostTensor HostTensor::reshaped(llvm::ArrayRef<int64_t> newShape) const {
  HostTensor result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  return result;
}

llvm::Error checkConstant(ElementsAttr attribute) {
  auto type = llvm::cast<ShapedType>(attribute.getType());
  auto fail = [&](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  std::optional<ElementType> elementType = getElementType(type.getElementType());
  std::string typeText;
  llvm::raw_string_ostream(typeText) << Type(type);
  if (!elementType)
    return fail("expects a constant of numbers or bools, got '" + typeText + "'");
  auto resource = llvm::dyn_cast<DenseResourceElementsAttr>(attribute);
  if (!resource && !llvm::isa<DenseIntOrFPElementsAttr>(attribute))
    return fail("expects an inline constant or a resource for '" + typeText + "', got '" +
                attribute.getAbstractAttribute().getName() + "'");
  if (!resource)
    return llvm::Error::success();
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  if (!blob)
    return fail("expects the resource '" + resource.getRawHandle().getKey() + "', got none");
  // With 128 bits no shape that a text can state is too large to count.
  __int128 bits = getStorageBits(*elementType);
  for (int64_t size : type.getShape())
    bits = std::min(bits * size, __int128(1) << 64);
  uint64_t want = static_cast<uint64_t>((bits + 7) / 8), got = blob->getData().size();
  if (got != want)
    return fail(llvm::formatv("expects {0} bytes in the resource '{1}' of type '{2}', got {3}", want,
                              resource.getRawHandle().getKey(), typeText, got));
  return llvm::Error::success();
}

llvm::Expected<HostTensor> getHostTensor(ElementsAttr attribute) {
  if (llvm::Error error = checkConstant(attribute))
    return error;
  auto type = llvm::cast<ShapedType>(attribute.getType());
  ElementType elementType = *getElementType(type.getElementType());
  HostTensor tensor(elementType, type.getShape());
  if (auto resource = llvm::dyn_cast<DenseResourceElementsAttr>(attribute)) {
    llvm::ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    if (!data.empty())
      std::memcpy(tensor.getMutableBytes().data(), data.data(), data.size());
    return tensor;
  }
  auto dense = llvm::cast<DenseIntOrFPElementsAttr>(attribute);
  bool hasOurStorage = elementType != ElementType::Bool && getStorageBits(elementType) >= 8;
  if (hasOurStorage && !dense.isSplat()) {
    llvm::ArrayRef<char> data = dense.getRawData();
    if (!data.empty())
      std::memcpy(tensor.getMutableBytes().data(), data.data(), data.size());
    return tensor;
  }
  auto bitsOf = [&](auto value) {
    if constexpr (std::is_same_v<decltype(value), llvm::APFloat>)
      return value.bitcastToAPInt().getZExtValue();
    else
      return value.getZExtValue();
  };
  auto copy = [&](auto range) {
    for (auto [index, value] : llvm::enumerate(range))
      tensor.setBits(index, bitsOf(value));
  };
  if (isFloat(elementType))
    copy(dense.getValues<llvm::APFloat>());
  else
    copy(dense.getValues<llvm::APInt>());
  return tensor;
}

ElementsAttr getElementsAttr(RankedTensorType type, const HostTensor &tensor) {
  ElementType elementType = tensor.getElementType();
  unsigned width = getStorageBits(elementType);
  int64_t count = tensor.getNumElements();
  if (elementType == ElementType::Bool) {
    llvm::SmallVector<bool> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(tensor.getInt(i) != 0);
    return DenseElementsAttr::get(type, values);
  }
  if (width >= 8) {
    llvm::ArrayRef<uint8_t> bytes = tensor.getBytes();
    // One element that repeats is stored once.
    bool isSplat = count > 1;
    for (int64_t i = 1; isSplat && i < count; ++i)
      isSplat = std::memcmp(bytes.data(), bytes.data() + i * (width / 8), width / 8) == 0;
    llvm::ArrayRef<char> raw(reinterpret_cast<const char *>(bytes.data()), isSplat ? width / 8 : bytes.size());
    return llvm::cast<ElementsAttr>(DenseElementsAttr::getFromRawBuffer(type, raw));
  }
  llvm::SmallVector<llvm::APInt> values;
  for (int64_t i = 0; i < count; ++i)
    values.emplace_back(width, tensor.getBits(i));
  if (!isFloat(elementType))
    return DenseElementsAttr::get(type, values);
  llvm::SmallVector<llvm::APFloat> floats;
  const llvm::fltSemantics &semantics = llvm::cast<FloatType>(type.getElementType()).getFloatSemantics();
  for (const llvm::APInt &value : values)
    floats.emplace_back(semantics, value);
  return DenseElementsAttr::get(type, floats);
}

ElementsAttr getResourceAttr(RankedTensorType type, const HostTensor &tensor, llvm::StringRef name) {
  llvm::ArrayRef<char> data(reinterpret_cast<const char *>(tensor.getBytes().data()), tensor.getBytes().size());
  // Whoever makes the same one, in any function or version of a model and on any thread, gets the same one.
  static std::mutex makesOne;
  std::lock_guard lock(makesOne);
  auto &resources = DenseResourceElementsHandle::getManagerInterface(type.getContext());
  std::string unique =
      (name + "_" + llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(data.data(), data.size())), /*LowerCase=*/true))
          .str();
  if (auto *known = resources.getBlobManager().lookup(unique); known && known->getBlob())
    if (known->getBlob()->getData() == data)
      return DenseResourceElementsAttr::get(
          type, DenseResourceElementsHandle(known, type.getContext()->getLoadedDialect<BuiltinDialect>()));
  return DenseResourceElementsAttr::get(type, unique, HeapAsmResourceBlob::allocateAndCopyWithAlign(data, 64));
}

} // namespace vx::reference
