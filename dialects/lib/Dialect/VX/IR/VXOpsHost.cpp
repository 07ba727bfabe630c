#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsHost.cpp.inc"

namespace vx {

namespace {

enum class Element { string, number, boolean, count, any, byte };

/// What a function takes and gives.
struct HostSignature {
  SmallVector<Element, 2> inputs, results;
};

} // namespace

static HostSignature getSignature(HostFunctionKind kind) {
  switch (kind) {
  case HostFunctionKind::string_concat:
    return {{Element::string, Element::string}, {Element::string}};
  case HostFunctionKind::string_upper:
  case HostFunctionKind::string_lower:
    return {{Element::string}, {Element::string}};
  case HostFunctionKind::string_split:
    return {{Element::string}, {Element::string, Element::count}};
  case HostFunctionKind::string_match:
    return {{Element::string}, {Element::boolean}};
  case HostFunctionKind::string_parse:
    return {{Element::string}, {Element::number}};
  case HostFunctionKind::string_format:
    return {{Element::any}, {Element::string}};
  case HostFunctionKind::image_decode:
    return {{Element::byte}, {Element::byte}};
  }
  llvm_unreachable("all kinds are handled");
}

static bool isElement(Element element, Type type) {
  switch (element) {
  case Element::string: // by itself, or as its number
    return isa<StringType>(type) || type.isSignlessInteger(32);
  case Element::count:
    return type.isSignlessInteger(64);
  case Element::boolean:
    return type.isInteger(1);
  case Element::number:
    return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
           (type.isInteger() && type.getIntOrFloatBitWidth() >= 8);
  case Element::byte:
    return type.isUnsignedInteger(8);
  case Element::any:
    return type.isInteger(1) || isElement(Element::number, type);
  }
  llvm_unreachable("all elements are handled");
}

static LogicalResult verifyElements(HostFunctionOp op, StringRef what, ArrayRef<Element> want, TypeRange got) {
  if (want.size() != got.size()) // C1
    return op.emitOpError() << "expects " << want.size() << " " << what << "s of '"
                            << stringifyHostFunctionKind(op.getKind()) << "', got " << got.size();
  static constexpr StringLiteral names[] = {"strings", "integers of a byte or more or floats of two",        "bools",
                                            "i64s",    "integers of a byte or more, floats of two or bools", "u8s"};
  for (auto [index, pair] : llvm::enumerate(llvm::zip(want, got)))
    if (auto [element, type] = pair; !isElement(element, cast<RankedTensorType>(type).getElementType()))
      return op.emitOpError() << "expects " << names[static_cast<size_t>(element)] << " as " << what << " " << index
                              << " of '" << stringifyHostFunctionKind(op.getKind()) << "', got " << type;
  return success();
}

static LogicalResult verifyImage(HostFunctionOp op) {
  StringRef order = op.getText();
  if (order != "RGB" && order != "BGR" && order != "Grayscale") // C3
    return op.emitOpError() << "expects 'text' to be RGB, BGR or Grayscale, got '" << order << "'";
  const int64_t samples = order == "Grayscale" ? 1 : 3;
  auto file = cast<RankedTensorType>(op.getInputs()[0].getType());
  auto image = cast<RankedTensorType>(op.getResultTypes()[0]);
  if (file.getRank() != 1 || image.getRank() != 3 || image.getDimSize(2) != samples) // C2
    return op.emitOpError() << "expects bytes of one dimension and an image of [height, width, " << samples << "], got "
                            << file << " and " << image;
  return success();
}

LogicalResult HostFunctionOp::verify() {
  HostSignature signature = getSignature(getKind());
  if (failed(verifyElements(*this, "operand", signature.inputs, getInputs().getTypes())) ||
      failed(verifyElements(*this, "result", signature.results, getResultTypes())))
    return failure();
  if (getKind() == HostFunctionKind::image_decode)
    return verifyImage(*this);
  auto shape = cast<RankedTensorType>(getInputs()[0].getType());
  auto check = [&](Type type, int64_t more) -> LogicalResult { // C2
    auto tensor = cast<RankedTensorType>(type);
    bool fits = tensor.getRank() == shape.getRank() + more;
    for (int64_t d = 0; fits && d < shape.getRank(); ++d)
      fits = ShapedType::isDynamic(tensor.getDimSize(d)) || ShapedType::isDynamic(shape.getDimSize(d)) ||
             tensor.getDimSize(d) == shape.getDimSize(d);
    if (fits)
      return success();
    return emitOpError() << "expects values of the shape of " << shape << (more ? " and one dimension" : "") << ", got "
                         << type;
  };
  for (Type type : getInputs().getTypes())
    if (failed(check(type, 0)))
      return failure();
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (failed(check(type, getKind() == HostFunctionKind::string_split && index == 0 ? 1 : 0)))
      return failure();
  return success();
}

void registerHostOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsHost.cpp.inc"
      >(dialect);
}

} // namespace vx
