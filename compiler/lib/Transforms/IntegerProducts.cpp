// Products of quantised factors as products of integers.

#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Reference/Evaluate.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_INTEGERPRODUCTSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// A scale or zero point: one number, of no dimensions, or one for each place of a dimension.
struct Parameter {
  Value value; // null: none
  std::optional<int64_t> dim;
};

/// A factor that is (bytes - zero) * scale.
struct Factor {
  Value bytes;
  Parameter scale, zero;
};

bool isUnsigned(Value value) { return getElementTypeOrSelf(value.getType()).isUnsignedInteger(); }

/// The numbers that `value`, of the shape of a factor, repeats; nothing where they differ along several dimensions.
std::optional<Parameter> matchParameter(GraphBuilder &g, Value value) {
  if (!value)
    return Parameter{};
  if (Attribute number = getSplatNumber(value)) {
    auto type = RankedTensorType::get({}, getElementTypeOrSelf(value.getType()));
    return Parameter{g.emitConstant(DenseElementsAttr::get(type, number)), std::nullopt};
  }
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return std::nullopt;
  Value input = broadcast.getInput();
  auto type = cast<RankedTensorType>(input.getType());
  std::optional<int64_t> dim;
  int64_t along = 0;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (type.getDimSize(d) == 1)
      continue;
    if (dim || type.isDynamicDim(d))
      return std::nullopt;
    dim = broadcast.getDimensions()[d];
    along = type.getDimSize(d);
  }
  SmallVector<DimAttr> dims;
  if (dim)
    dims.push_back(g.dim(along));
  return Parameter{g.reshape(input, dims), dim};
}

/// The one number that a parameter is known to be.
std::optional<int64_t> getKnownZero(const Parameter &zero) {
  if (!zero.value)
    return 0;
  Value value = zero.value;
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  ElementsAttr constant = getConstantValue(value);
  if (!constant)
    return std::nullopt;
  llvm::Expected<reference::HostTensor> numbers = reference::getHostTensor(constant);
  if (!numbers) {
    llvm::consumeError(numbers.takeError()); // a weight that is not there
    return std::nullopt;
  }
  for (int64_t i = 1; i < numbers->getNumElements(); ++i)
    if (numbers->getInt(i) != numbers->getInt(0))
      return std::nullopt;
  if (numbers->getNumElements() == 0)
    return std::nullopt;
  return numbers->getInt(0);
}

std::optional<Factor> matchFactor(GraphBuilder &g, Value value) {
  auto dequantize = value.getDefiningOp<DequantizeOp>();
  if (!dequantize || !getElementTypeOrSelf(dequantize.getInput().getType()).isInteger(8) ||
      !getElementTypeOrSelf(value.getType()).isF32())
    return std::nullopt;
  std::optional<Parameter> scale = matchParameter(g, dequantize.getScale()),
                           zero = matchParameter(g, dequantize.getZero());
  if (!scale || !zero)
    return std::nullopt;
  return Factor{dequantize.getInput(), *scale, *zero};
}

/// Products of bytes whose sum an i32 holds.
constexpr int64_t mostProducts = 65793;

/// The bytes less 128, or more by 128, as those of the other signedness: the zero point is so, too.
struct Shifted {
  Value bytes;
  int64_t by = 0;
};
Shifted withSign(GraphBuilder &g, Value bytes, bool toUnsigned) {
  if (isUnsigned(bytes) == toUnsigned)
    return {bytes};
  MLIRContext *context = g.context;
  auto type = IntegerType::get(context, 8, toUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  auto shape = cast<RankedTensorType>(bytes.getType());
  Value flipped = g.emit<XorOp>(bytes, g.splatLike(isUnsigned(bytes) ? 128 : -128, bytes));
  return {g.emitAs<BitcastOp>(shape.clone(type), flipped), toUnsigned ? 128 : -128};
}

class ProductRewriter {
public:
  ProductRewriter(OpBuilder &builder, Operation *op)
      : g(builder, op->getLoc()), i32(builder.getI32Type()),
        dims(getDims(cast<RankedTensorType>(op->getResult(0).getType()))) {}

  /// The result of a convolution as a product of integers; null where it stays one of floats.
  Value rewrite(ConvOp conv) {
    std::optional<Factor> input = matchFactor(g, conv.getInput()), filter = matchFactor(g, conv.getFilter());
    RankedTensorType filterType = conv.getFilter().getType();
    if (conv.getChannelsLast() || !input || !filter || input->scale.dim || input->zero.dim ||
        !filterType.hasStaticShape() || filterType.getDimSize(0) == 0 ||
        filterType.getNumElements() / filterType.getDimSize(0) > mostProducts ||
        (filter->scale.dim && filter->scale.dim != 0))
      return {};
    Shifted left = withSign(g, input->bytes, /*toUnsigned=*/true);
    Shifted right = withSign(g, filter->bytes, /*toUnsigned=*/false);
    std::optional<int64_t> filterZero = getKnownZero(filter->zero);
    if (!filterZero || *filterZero + right.by != 0)
      return {};
    std::optional<int64_t> known = getKnownZero(input->zero);
    Value zero =
        known ? g.emitScalar(static_cast<double>(*known + left.by), i32) : shift(widen(input->zero.value), left.by);
    // Outside of the input lies a 0, which is the zero point.
    Value bytes = left.bytes;
    SmallVector<int64_t> low(conv.getPadsLow()), high(conv.getPadsHigh());
    bool hasPads = llvm::any_of(llvm::concat<int64_t>(low, high), [](int64_t pad) { return pad != 0; });
    bool isZero = known && *known + left.by == 0;
    if (hasPads && !isZero) {
      SmallVector<DimAttr> before(2, g.dim(0)), after(2, g.dim(0));
      for (auto [a, b] : llvm::zip(low, high)) {
        before.push_back(g.dim(a));
        after.push_back(g.dim(b));
      }
      Type byte = getElementTypeOrSelf(bytes.getType());
      Value outside = known ? g.emitScalar(static_cast<double>(*known + left.by), byte) : g.cast(zero, byte);
      bytes = g.emit<PadOp>(bytes, outside, g.toArray(before), g.toArray(after));
      low.assign(low.size(), 0);
      high = low;
    }
    Value sums = g.emit<ConvOp>(bytes, right.bytes, conv.getStrides(), conv.getDilations(), low, high, conv.getGroups(),
                                /*channels_last=*/false, TypeAttr::get(i32), TypeAttr());
    if (!isZero) {
      SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(1, filterType.getRank()));
      Value sum = sumOf(right.bytes, axes);
      sum = g.emit<MulOp>(g.broadcastInDim(zero, getDims(cast<RankedTensorType>(sum.getType())), {}), sum);
      sums = g.emit<SubOp>(sums, spread({sum, 1}));
    }
    Parameter scale = filter->scale;
    if (scale.dim)
      scale.dim = 1;
    return scaled(sums, input->scale, scale);
  }

  Value rewrite(ContractOp contract) {
    std::optional<Factor> lhs = matchFactor(g, contract.getLhs()), rhs = matchFactor(g, contract.getRhs());
    if (!lhs || !rhs)
      return {};
    int64_t count = 1;
    RankedTensorType type = contract.getLhs().getType();
    for (int64_t dim : contract.getLhsContracting()) {
      if (type.isDynamicDim(dim) || count > mostProducts)
        return {};
      count *= type.getDimSize(dim);
    }
    if (count > mostProducts)
      return {};
    Shifted left = withSign(g, lhs->bytes, /*toUnsigned=*/true);
    Shifted right = withSign(g, rhs->bytes, /*toUnsigned=*/false);
    // The dimension of the result that a factor's is; nothing for one that is summed.
    auto place = [&](bool isLeft, int64_t dim) -> std::optional<int64_t> {
      ArrayRef<int64_t> batch = isLeft ? contract.getLhsBatch() : contract.getRhsBatch();
      ArrayRef<int64_t> summed = isLeft ? contract.getLhsContracting() : contract.getRhsContracting();
      if (llvm::is_contained(summed, dim))
        return std::nullopt;
      if (const auto *found = llvm::find(batch, dim); found != batch.end())
        return found - batch.begin();
      int64_t rank = static_cast<int64_t>(batch.size());
      if (!isLeft)
        rank +=
            type.getRank() - static_cast<int64_t>(contract.getLhsBatch().size() + contract.getLhsContracting().size());
      for (int64_t other = 0; other < dim; ++other)
        rank += !llvm::is_contained(batch, other) && !llvm::is_contained(summed, other);
      return rank;
    };
    auto follow = [&](Parameter &parameter, bool isLeft) {
      if (!parameter.dim)
        return true;
      parameter.dim = place(isLeft, *parameter.dim);
      return parameter.dim.has_value();
    };
    for (bool isLeft : {true, false}) {
      Factor &factor = isLeft ? *lhs : *rhs;
      if (!follow(factor.scale, isLeft) || !follow(factor.zero, isLeft))
        return {};
    }
    Value sums =
        g.emit<ContractOp>(left.bytes, right.bytes, contract.getLhsBatch(), contract.getRhsBatch(),
                           contract.getLhsContracting(), contract.getRhsContracting(), TypeAttr::get(i32), TypeAttr());
    auto getZero = [&](const Factor &factor, int64_t by) -> Parameter {
      std::optional<int64_t> known = getKnownZero(factor.zero);
      if (known && *known + by == 0)
        return {};
      if (known)
        return {g.emitScalar(static_cast<double>(*known + by), i32), std::nullopt};
      return {shift(widen(factor.zero.value), by), factor.zero.dim};
    };
    /// The sums of one factor, times the other's zero point: before they are repeated, where the zero point is one
    /// number.
    auto subtractSum = [&](Value bytes, bool isLeft, Parameter zero) {
      Value sum = sumOf(bytes, isLeft ? contract.getLhsContracting() : contract.getRhsContracting());
      SmallVector<int64_t> places;
      ArrayRef<int64_t> summed = isLeft ? contract.getLhsContracting() : contract.getRhsContracting();
      for (int64_t dim = 0; dim < cast<RankedTensorType>(bytes.getType()).getRank(); ++dim)
        if (!llvm::is_contained(summed, dim))
          places.push_back(*place(isLeft, dim));
      // The dimensions of a broadcast increase.
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, places.size()));
      llvm::sort(order, [&](int64_t a, int64_t b) { return places[a] < places[b]; });
      sum = g.transpose(sum, order);
      llvm::sort(places);
      if (!zero.dim) {
        sum = g.emit<MulOp>(g.broadcastInDim(zero.value, getDims(cast<RankedTensorType>(sum.getType())), {}), sum);
        sums = g.emit<SubOp>(sums, g.broadcastInDim(sum, dims, places));
      } else {
        sums = g.emit<SubOp>(sums, g.emit<MulOp>(spread(zero), g.broadcastInDim(sum, dims, places)));
      }
    };
    Parameter ofLeft = getZero(*lhs, left.by), ofRight = getZero(*rhs, right.by);
    if (ofLeft.value)
      subtractSum(right.bytes, false, ofLeft);
    if (ofRight.value)
      subtractSum(left.bytes, true, ofRight);
    if (ofLeft.value && ofRight.value) {
      Value all = g.emit<MulOp>(ofLeft.value, g.splatLike(static_cast<double>(count), ofLeft.value));
      sums = g.emit<AddOp>(sums, g.emit<MulOp>(spread({all, ofLeft.dim}), spread(ofRight)));
    }
    return scaled(sums, lhs->scale, rhs->scale);
  }

private:
  Value widen(Value integers) { return g.cast(integers, i32); }
  Value shift(Value zero, int64_t by) {
    return by == 0 ? zero : g.emit<AddOp>(zero, g.splatLike(static_cast<double>(by), zero));
  }
  Value sumOf(Value bytes, ArrayRef<int64_t> axes) { return g.reduce(ReduceKind::sum, widen(bytes), axes); }
  /// A parameter along a dimension of the result, repeated to it.
  Value spread(const Parameter &parameter) {
    SmallVector<int64_t> places;
    if (parameter.dim)
      places.push_back(*parameter.dim);
    return g.broadcastInDim(parameter.value, dims, places);
  }
  /// sums * (a * b), the factors multiplied first where that is one row of numbers.
  Value scaled(Value sums, Parameter a, Parameter b) {
    Value number = g.cast(sums, g.builder.getF32Type());
    if (a.dim && b.dim)
      return g.emit<MulOp>(number, g.emit<MulOp>(spread(a), spread(b)));
    if (a.dim)
      std::swap(a, b);
    Value first = b.dim ? g.broadcastInDim(a.value, getDims(cast<RankedTensorType>(b.value.getType())), {}) : a.value;
    return g.emit<MulOp>(number, spread({g.emit<MulOp>(first, b.value), b.dim}));
  }

  GraphBuilder g;
  Type i32;
  SmallVector<DimAttr> dims;
};

struct IntegerProductsPass : impl::IntegerProductsPassBase<IntegerProductsPass> {
  using IntegerProductsPassBase::IntegerProductsPassBase;

  void runOnOperation() override {
    if (strictMath)
      return;
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvOp, ContractOp>(op) && getElementTypeOrSelf(op->getResult(0).getType()).isF32())
        products.push_back(op);
    });
    for (Operation *op : products) {
      OpBuilder builder(op);
      ProductRewriter rewriter(builder, op);
      auto conv = dyn_cast<ConvOp>(op);
      Value result = conv ? rewriter.rewrite(conv) : rewriter.rewrite(cast<ContractOp>(op));
      if (!result)
        continue;
      GraphBuilder g(builder, op->getLoc());
      op->getResult(0).replaceAllUsesWith(
          g.reshape(result, getDims(cast<RankedTensorType>(op->getResult(0).getType()))));
      op->erase();
    }
  }
};

} // namespace
} // namespace vx
