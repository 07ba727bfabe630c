#include "vx/Analysis/KernelWork.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace vx {

static DimAttr constant(Operation *op, int64_t value) { return DimAttr::constant(op->getContext(), value); }

static DimAttr getElements(Value value) { return getNumElements(cast<RankedTensorType>(value.getType())); }

static DimAttr getBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  int64_t bits = element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
  DimAttr count = getNumElements(tensor);
  if (bits % 8 == 0)
    return count * (bits / 8);
  return DimAttr::ceilDiv(count * bits, DimAttr::constant(type.getContext(), 8));
}

static DimAttr getFlops(Operation *op) {
  // `count` for each element of a float tensor.
  auto each = [&](Value counted, int64_t count) {
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(counted.getType()));
    return isFloat ? getElements(counted) * count : constant(op, 0);
  };
  return TypeSwitch<Operation *, DimAttr>(op)
      .Case<ContractOp>([&](ContractOp contract) {
        auto lhs = cast<RankedTensorType>(contract.getLhs().getType());
        DimAttr products = getElements(contract.getResult()) * 2;
        for (int64_t dim : contract.getLhsContracting())
          products = products * getDim(lhs, dim);
        return products;
      })
      .Case<ConvOp>([&](ConvOp conv) {
        // [M, C / groups, kernel...]
        auto filter = cast<RankedTensorType>(conv.getFilter().getType());
        DimAttr products = getElements(conv.getResult()) * 2;
        for (int64_t dim = 1; dim < filter.getRank(); ++dim)
          products = products * getDim(filter, dim);
        return products;
      })
      .Case<AttentionOp>([&](AttentionOp attention) {
        SmallVector<DimAttr> query = attention.getQuerySizes();
        DimAttr scores = query[AttentionOp::Batch] * query[AttentionOp::Heads] * query[AttentionOp::Length] *
                         attention.getKeySizes()[AttentionOp::Length];
        DimAttr depths = query[AttentionOp::Depth] + attention.getValueSizes()[AttentionOp::Depth];
        // Two products, and the softmax between them.
        return scores * depths * 2 + scores * 5;
      })
      .Case<ReduceOp>([&](ReduceOp reduce) { return each(reduce.getInput(), 1); })
      .Case<ReduceWindowOp>([&](ReduceWindowOp reduce) {
        int64_t window = 1;
        for (int64_t size : reduce.getWindow())
          window *= size;
        return each(reduce.getResult(), window);
      })
      // The greatest, the difference, the exponential, the sum, the quotient.
      .Case<SoftmaxOp>([&](SoftmaxOp softmax) { return each(softmax.getInput(), 5); })
      // The sum, the difference, its square and their sum, the quotient, scale and bias.
      .Case<LayerNormOp>([&](LayerNormOp norm) { return each(norm.getInput(), 7); })
      // The square and their sum, the quotient, the scale.
      .Case<RmsNormOp>([&](RmsNormOp norm) { return each(norm.getInput(), 4); })
      .Case<CastOp, SelectOp>([&](auto) { return constant(op, 0); })
      .Default([&](Operation *other) {
        return other->hasTrait<OpTrait::Elementwise>() ? each(other->getResult(0), 1) : constant(op, 0);
      });
}

/// The part of a kernel's input that its ops read.
static DimAttr getBytesRead(BlockArgument argument) {
  auto takesPart = [](OpOperand &use) {
    return isa<SliceOp>(use.getOwner()) || (isa<GatherOp>(use.getOwner()) && use.getOperandNumber() == 0);
  };
  if (!llvm::all_of(argument.getUses(), takesPart))
    return getBytes(argument.getType());
  DimAttr bytes = DimAttr::constant(argument.getContext(), 0);
  for (Operation *user : argument.getUsers())
    bytes = bytes + getBytes(user->getResult(0).getType());
  return bytes;
}

KernelWork countWork(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  KernelWork work{constant(kernel, 0), constant(kernel, 0)};
  for (Operation &op : body.without_terminator())
    work.flops = work.flops + getFlops(&op);
  for (BlockArgument argument : body.getArguments())
    work.bytes = work.bytes + getBytesRead(argument);
  for (Type type : body.getTerminator()->getOperandTypes())
    work.bytes = work.bytes + getBytes(type);
  return work;
}

} // namespace vx
