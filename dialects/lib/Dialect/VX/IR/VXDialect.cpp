#include "vx/Dialect/VX/IR/VXDialect.h"

#include "DimMemo.h"
#include "VXOpFamilies.h"
#include "vx/Dialect/IntegerList.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

#include "vx/Dialect/VX/IR/VXDialect.cpp.inc"
#include "vx/Dialect/VX/IR/VXEnums.cpp.inc"
#include "vx/Dialect/VX/IR/VXOpInterfaces.cpp.inc"
#include "vx/Dialect/VX/IR/VXStrategyInterface.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "vx/Dialect/VX/IR/VXAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "vx/Dialect/VX/IR/VXTypes.cpp.inc"

namespace vx {

void VXDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "vx/Dialect/VX/IR/VXAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "vx/Dialect/VX/IR/VXTypes.cpp.inc"
      >();
  registerAttentionOps(*this);
  registerContractionOps(*this);
  registerControlOps(*this);
  registerElementwiseOps(*this);
  registerGradientOps(*this);
  registerHostOps(*this);
  registerIndexingOps(*this);
  registerNormOps(*this);
  registerQuantizationOps(*this);
  registerReductionOps(*this);
  registerShapeOps(*this);
  addInterfaces<DimMemoInterface>();
}

std::optional<Role> getRole(OperationName op) {
  if (op.hasTrait<OpTrait::Pointwise>())
    return Role::Pointwise;
  if (op.hasTrait<OpTrait::Anchor>())
    return Role::Anchor;
  if (op.hasTrait<OpTrait::HostOp>())
    return Role::Host;
  if (op.hasTrait<OpTrait::Layout>())
    return Role::Layout;
  if (op.hasTrait<OpTrait::Container>())
    return Role::Container;
  if (op.hasTrait<OpTrait::Directive>())
    return Role::Directive;
  return std::nullopt;
}

DimAttr countFloats(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return isa<FloatType>(type.getElementType()) ? getNumElements(type) : DimAttr::constant(type.getContext(), 0);
}

ElementsAttr getConstantValue(Value tensor) {
  auto constant = tensor.getDefiningOp<ConstantOp>();
  return constant ? constant.getValue() : ElementsAttr();
}

Attribute getSplatNumber(Value tensor) {
  for (Operation *op = tensor.getDefiningOp(); op && op->getNumOperands() == 1 && op->hasTrait<OpTrait::Moves>();
       op = tensor.getDefiningOp())
    tensor = op->getOperand(0);
  auto elements = dyn_cast_or_null<SplatElementsAttr>(getConstantValue(tensor));
  if (!elements || !elements.getElementType().isIntOrFloat())
    return {};
  return elements.getSplatValue<Attribute>();
}

std::optional<double> getFloatSplat(Value tensor) {
  auto number = dyn_cast_or_null<FloatAttr>(getSplatNumber(tensor));
  return number ? std::optional(number.getValue().convertToDouble()) : std::nullopt;
}

std::pair<double, double> getBounds(IntegerType type) {
  int width = static_cast<int>(type.getWidth());
  if (type.isUnsigned())
    return {0, std::ldexp(1.0, width) - 1};
  return {-std::ldexp(1.0, width - 1), std::ldexp(1.0, width - 1) - 1};
}

LogicalResult VXDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kTrainingAttr) {
    auto training = dyn_cast<TrainingAttr>(attribute.getValue());
    return training ? verifyTraining(op, training)
                    : op->emitOpError() << "expects '#vx.training' as '" << kTrainingAttr << "', got "
                                        << attribute.getValue();
  }
  if (attribute.getName() == kProductAttr) {
    if (isa<ProductAttr>(attribute.getValue()) && op->hasTrait<vx::OpTrait::Product>())
      return success();
    return op->emitOpError() << "expects '#vx.product' of a product as '" << kProductAttr << "', got "
                             << attribute.getValue() << " of '" << op->getName() << "'";
  }
  if (attribute.getName() != kAnchorAttr)
    return success();
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError() << "expects a unit attribute '" << kAnchorAttr << "', got " << attribute.getValue();
  if (op->getParentOp() && isa<FusionOp, KernelOp>(op->getParentOp()))
    return success();
  Operation *parent = op->getParentOp();
  return op->emitOpError() << "expects to stand in 'vx.fusion' or 'vx.kernel' with '" << kAnchorAttr << "', got "
                           << (parent ? "'" + parent->getName().getStringRef().str() + "'" : "no op around it");
}

Operation *VXDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, location, elements.getType(), elements);
}

LogicalResult OptionalType::verify(function_ref<InFlightDiagnostic()> emitError, Type valueType) {
  if (!isa<TensorType, SequenceType>(valueType))
    return emitError() << "expects an optional of a tensor or a sequence, got " << valueType;
  return success();
}

bool areCompatibleTypes(Type lhs, Type rhs) {
  if (lhs == rhs)
    return true;
  if (auto lhsSequence = dyn_cast<SequenceType>(lhs)) {
    auto rhsSequence = dyn_cast<SequenceType>(rhs);
    return rhsSequence && areCompatibleTypes(lhsSequence.getElementType(), rhsSequence.getElementType());
  }
  if (auto lhsOptional = dyn_cast<OptionalType>(lhs)) {
    auto rhsOptional = dyn_cast<OptionalType>(rhs);
    return rhsOptional && areCompatibleTypes(lhsOptional.getValueType(), rhsOptional.getValueType());
  }
  auto lhsTensor = dyn_cast<TensorType>(lhs), rhsTensor = dyn_cast<TensorType>(rhs);
  if (!lhsTensor || !rhsTensor || lhsTensor.getElementType() != rhsTensor.getElementType())
    return false;
  auto lhsRanked = dyn_cast<RankedTensorType>(lhs), rhsRanked = dyn_cast<RankedTensorType>(rhs);
  if (!lhsRanked || !rhsRanked)
    return true;
  if (lhsRanked.getRank() != rhsRanked.getRank())
    return false;
  for (int64_t i = 0; i < lhsRanked.getRank(); ++i)
    if (!mayBeEqual(getDim(lhsRanked, i), getDim(rhsRanked, i)))
      return false;
  return true;
}

bool areCompatibleTypes(TypeRange lhs, TypeRange rhs) {
  return lhs.size() == rhs.size() && llvm::all_of(llvm::zip(lhs, rhs), [](auto pair) {
           return areCompatibleTypes(std::get<0>(pair), std::get<1>(pair));
         });
}

} // namespace vx
