#include "vx/Dialect/VX/IR/VXAttributes.h"

#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

namespace vx {

LogicalResult EncodingAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                           function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size())
    return emitError() << "expects one dimension expression for each dimension: " << shape.size() << ", got "
                       << getDims().size();
  for (auto [index, size, dim] : llvm::enumerate(shape, getDims())) {
    std::optional<int64_t> constant = dim.asConstant();
    if (ShapedType::isDynamic(size) ? constant.has_value() : constant != size)
      return emitError() << "expects dimension " << index << " and its expression to agree, got "
                         << (ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size))
                         << " in the shape and '" << dim.str() << "' in the encoding";
  }
  return success();
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  StringRef name;
  llvm::SMLoc place;
  double numbers[2] = {};
  if (parser.parseLess() || parser.getCurrentLocation(&place) || parser.parseKeyword(&name))
    return {};
  std::optional<InitKind> kind = symbolizeInitKind(name);
  if (!kind) {
    parser.emitError(place, "expects 'uniform', 'normal' or 'orthogonal', got '") << name << "'";
    return {};
  }
  if (parser.parseLParen() || parser.parseFloat(numbers[0]) ||
      (*kind != InitKind::orthogonal && (parser.parseComma() || parser.parseFloat(numbers[1]))) ||
      parser.parseRParen() || parser.parseGreater())
    return {};
  Builder builder(parser.getContext());
  return get(parser.getContext(), *kind, builder.getF64FloatAttr(numbers[0]), builder.getF64FloatAttr(numbers[1]));
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyInitKind(getKind()) << '(';
  printer.printFloat(getA().getValue());
  if (getKind() != InitKind::orthogonal) {
    printer << ", ";
    printer.printFloat(getB().getValue());
  }
  printer << ")>";
}

DimAttr getDim(RankedTensorType type, int64_t index) {
  if (!type.isDynamicDim(index))
    return DimAttr::constant(type.getContext(), type.getDimSize(index));
  if (auto encoding = dyn_cast_or_null<EncodingAttr>(type.getEncoding()))
    return encoding.getDims()[index];
  return {};
}

SmallVector<DimAttr> getDims(RankedTensorType type) {
  SmallVector<DimAttr> dims;
  for (int64_t i = 0; i < type.getRank(); ++i)
    dims.push_back(getDim(type, i));
  return dims;
}

DimAttr getNumElements(RankedTensorType type) {
  DimAttr product = DimAttr::constant(type.getContext(), 1);
  for (DimAttr dim : getDims(type)) {
    if (!dim)
      return {};
    product = product * dim;
  }
  return product;
}

RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

RankedTensorType getTensorType(ArrayRef<DimAttr> dims, Type elementType) {
  SmallVector<int64_t> shape;
  bool isDynamic = false, isKnown = true;
  for (DimAttr dim : dims) {
    std::optional<int64_t> constant = dim ? dim.asConstant() : std::nullopt;
    // A negative constant cannot be a size; verifiers report it where it comes from.
    shape.push_back(constant && *constant >= 0 ? *constant : ShapedType::kDynamic);
    isDynamic |= !constant;
    isKnown &= dim && (!constant || *constant >= 0);
  }
  Attribute encoding;
  if (isKnown && isDynamic)
    encoding = EncodingAttr::get(elementType.getContext(), dims);
  return RankedTensorType::get(shape, elementType, encoding);
}

RankedTensorType dropEncoding(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

bool mayBeEqual(DimAttr lhs, DimAttr rhs) {
  if (!lhs || !rhs || lhs == rhs)
    return true;
  // Expressions that differ by a constant are never equal.
  std::optional<int64_t> difference = (lhs - rhs).asConstant();
  return !difference || *difference == 0;
}

} // namespace vx
