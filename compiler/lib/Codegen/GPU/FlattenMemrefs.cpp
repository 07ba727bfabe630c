#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_DEF_FLATTENMEMREFSPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;

namespace {

/// A memref as a strided view of a one-dimensional memref `root`. Nothing but constants and index values.
struct View {
  Value root;
  OpFoldResult offset;
  SmallVector<OpFoldResult> sizes;
  SmallVector<OpFoldResult> strides;
};

class Flattener {
public:
  explicit Flattener(func::FuncOp func) : func(func), builder(func.getContext()) {}

  LogicalResult run() {
    SmallVector<Operation *> accesses;
    func.walk([&](Operation *op) {
      if (isa<memref::LoadOp, memref::StoreOp, memref::DimOp, vector::LoadOp, vector::StoreOp, vxk::LoadFragmentOp,
              vxk::AsyncCopyOp>(op))
        accesses.push_back(op);
    });
    for (Operation *op : accesses)
      if (failed(rewrite(op)))
        return failure();
    return eraseDead();
  }

private:
  OpFoldResult constant(int64_t value) { return builder.getIndexAttr(value); }

  Value materialize(Location loc, OpFoldResult value) {
    if (auto known = dyn_cast<Value>(value))
      return known;
    return arith::ConstantIndexOp::create(builder, loc, *getConstantIntValue(value));
  }

  OpFoldResult add(Location loc, OpFoldResult lhs, OpFoldResult rhs) {
    std::optional<int64_t> l = getConstantIntValue(lhs), r = getConstantIntValue(rhs);
    if (l && r)
      return constant(*l + *r);
    if (l == 0)
      return rhs;
    if (r == 0)
      return lhs;
    return arith::AddIOp::create(builder, loc, materialize(loc, lhs), materialize(loc, rhs)).getResult();
  }

  OpFoldResult mul(Location loc, OpFoldResult lhs, OpFoldResult rhs) {
    std::optional<int64_t> l = getConstantIntValue(lhs), r = getConstantIntValue(rhs);
    if (l && r)
      return constant(*l * *r);
    if (l == 0 || r == 0)
      return constant(0);
    if (l == 1)
      return rhs;
    if (r == 1)
      return lhs;
    return arith::MulIOp::create(builder, loc, materialize(loc, lhs), materialize(loc, rhs)).getResult();
  }

  OpFoldResult product(Location loc, ArrayRef<OpFoldResult> values) {
    OpFoldResult result = constant(1);
    for (OpFoldResult value : values)
      result = mul(loc, result, value);
    return result;
  }

  /// The strides of a row-major shape.
  SmallVector<OpFoldResult> rowMajor(Location loc, ArrayRef<OpFoldResult> sizes) {
    SmallVector<OpFoldResult> strides(sizes.size());
    OpFoldResult stride = constant(1);
    for (size_t i = sizes.size(); i-- > 0;) {
      strides[i] = stride;
      stride = mul(loc, stride, sizes[i]);
    }
    return strides;
  }

  /// An allocation as a view of a one-dimensional one, which `make` builds from its size.
  View allocation(Operation *op, MemRefType type, ValueRange dynamicSizes,
                  function_ref<Value(MemRefType, ValueRange)> make) {
    View view;
    view.offset = constant(0);
    for (int64_t i = 0, dynamic = 0; i < type.getRank(); ++i)
      view.sizes.push_back(type.isDynamicDim(i) ? OpFoldResult(dynamicSizes[dynamic++]) : constant(type.getDimSize(i)));
    view.strides = rowMajor(op->getLoc(), view.sizes);
    OpFoldResult size = product(op->getLoc(), view.sizes);
    std::optional<int64_t> known = getConstantIntValue(size);
    MemRefType flat = MemRefType::get({known ? *known : ShapedType::kDynamic}, type.getElementType(),
                                      MemRefLayoutAttrInterface(), type.getMemorySpace());
    SmallVector<Value> sizeOperand;
    if (!known)
      sizeOperand.push_back(materialize(op->getLoc(), size));
    view.root = make(flat, sizeOperand);
    return view;
  }

  /// Resolves `value`; the view's arithmetic stands right behind the op that defines it.
  FailureOr<View> resolve(Value value) {
    if (auto found = views.find(value); found != views.end())
      return found->second;
    Operation *op = value.getDefiningOp();
    if (!op) {
      func.emitError() << "expects memrefs that are made in the kernel, got one that control flow passes on, of type "
                       << value.getType();
      return failure();
    }
    FailureOr<View> view = resolveOp(op, value);
    if (succeeded(view))
      views[value] = *view;
    return view;
  }

  FailureOr<View> resolveOp(Operation *op, Value value) {
    Location loc = op->getLoc();
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type)
      return op->emitOpError() << "expects a ranked memref, got " << value.getType(), failure();

    if (auto buffer = dyn_cast<vxk::BufferOp>(op)) {
      builder.setInsertionPointAfter(op);
      return allocation(op, type, buffer.getSizes(), [&](MemRefType flat, ValueRange sizes) -> Value {
        return vxk::BufferOp::create(builder, loc, flat, buffer.getIndexAttr(), buffer.getAccessAttr(), sizes);
      });
    }
    if (auto workspace = dyn_cast<vxk::WorkspaceOp>(op))
      return View{value, constant(0), {workspace.getSize()}, {constant(1)}};
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      builder.setInsertionPointAfter(op);
      return allocation(op, type, alloc.getDynamicSizes(), [&](MemRefType flat, ValueRange sizes) -> Value {
        return memref::AllocOp::create(builder, loc, flat, sizes);
      });
    }
    if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
      builder.setInsertionPointAfter(op);
      return allocation(op, type, alloca.getDynamicSizes(), [&](MemRefType flat, ValueRange sizes) -> Value {
        return memref::AllocaOp::create(builder, loc, flat, sizes);
      });
    }

    auto withSource = [&](Value source) -> FailureOr<View> {
      FailureOr<View> view = resolve(source);
      builder.setInsertionPointAfter(op);
      return view;
    };
    if (auto cast = dyn_cast<memref::CastOp>(op))
      return withSource(cast.getSource());
    if (auto cast = dyn_cast<memref::MemorySpaceCastOp>(op))
      return withSource(cast.getSource());
    if (auto subview = dyn_cast<memref::SubViewOp>(op)) {
      FailureOr<View> source = withSource(subview.getSource());
      if (failed(source))
        return failure();
      View view{source->root, source->offset, {}, {}};
      llvm::SmallBitVector dropped = subview.getDroppedDims();
      SmallVector<OpFoldResult> offsets = subview.getMixedOffsets(), sizes = subview.getMixedSizes(),
                                strides = subview.getMixedStrides();
      for (size_t i = 0; i < sizes.size(); ++i) {
        view.offset = add(loc, view.offset, mul(loc, offsets[i], source->strides[i]));
        if (dropped.test(i))
          continue;
        view.sizes.push_back(sizes[i]);
        view.strides.push_back(mul(loc, strides[i], source->strides[i]));
      }
      return view;
    }
    if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
      FailureOr<View> source = withSource(transpose.getIn());
      if (failed(source))
        return failure();
      View view{source->root, source->offset, {}, {}};
      for (AffineExpr result : transpose.getPermutation().getResults()) {
        unsigned dim = cast<AffineDimExpr>(result).getPosition();
        view.sizes.push_back(source->sizes[dim]);
        view.strides.push_back(source->strides[dim]);
      }
      return view;
    }
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
      FailureOr<View> source = withSource(collapse.getSrc());
      if (failed(source))
        return failure();
      View view{source->root, source->offset, {}, {}};
      for (ReassociationIndicesRef group : collapse.getReassociationIndices()) {
        SmallVector<OpFoldResult> sizes;
        // The innermost dimension that is not 1 gives the stride: those of size 1 may have any.
        OpFoldResult stride = source->strides[group.back()];
        for (int64_t dim : llvm::reverse(group))
          if (getConstantIntValue(source->sizes[dim]) != 1) {
            stride = source->strides[dim];
            break;
          }
        for (int64_t dim : group)
          sizes.push_back(source->sizes[dim]);
        view.sizes.push_back(product(loc, sizes));
        view.strides.push_back(stride);
      }
      return view;
    }
    if (auto expand = dyn_cast<memref::ExpandShapeOp>(op)) {
      FailureOr<View> source = withSource(expand.getSrc());
      if (failed(source))
        return failure();
      View view{source->root, source->offset, expand.getMixedOutputShape(), {}};
      view.strides.resize(view.sizes.size());
      for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
        OpFoldResult stride = source->strides[dim];
        for (int64_t inner : llvm::reverse(group)) {
          view.strides[inner] = stride;
          stride = mul(loc, stride, view.sizes[inner]);
        }
      }
      return view;
    }
    if (auto reinterpret = dyn_cast<memref::ReinterpretCastOp>(op)) {
      FailureOr<View> source = withSource(reinterpret.getSource());
      if (failed(source))
        return failure();
      // The offset counts from the allocation's begin, whatever the source's own offset is.
      return View{source->root, reinterpret.getMixedOffsets()[0], reinterpret.getMixedSizes(),
                  reinterpret.getMixedStrides()};
    }
    op->emitError() << "expects a memref that views one buffer of the kernel, got the result of '" << op->getName()
                    << "'";
    return failure();
  }

  FailureOr<std::pair<Value, Value>> address(Operation *op, Value memref, ValueRange indices) {
    FailureOr<View> view = resolve(memref);
    if (failed(view))
      return failure();
    builder.setInsertionPoint(op);
    OpFoldResult linear = view->offset;
    for (auto [index, stride] : llvm::zip_equal(indices, view->strides))
      linear = add(op->getLoc(), linear, mul(op->getLoc(), getAsOpFoldResult(index), stride));
    return std::pair(view->root, materialize(op->getLoc(), linear));
  }

  LogicalResult rewrite(Operation *op) {
    if (auto dim = dyn_cast<memref::DimOp>(op)) {
      FailureOr<View> view = resolve(dim.getSource());
      std::optional<int64_t> index = dim.getConstantIndex();
      if (failed(view))
        return failure();
      if (!index || *index >= static_cast<int64_t>(view->sizes.size()))
        return op->emitOpError() << "expects a constant dimension below " << view->sizes.size() << ", got "
                                 << (index ? std::to_string(*index) : "one that is not constant");
      builder.setInsertionPoint(op);
      op->getResult(0).replaceAllUsesWith(materialize(op->getLoc(), view->sizes[*index]));
      op->erase();
      return success();
    }
    if (auto copy = dyn_cast<vxk::AsyncCopyOp>(op)) {
      auto source = address(op, copy.getSource(), copy.getIndices());
      auto target = address(op, copy.getTarget(), copy.getAt());
      if (failed(source) || failed(target))
        return failure();
      vxk::AsyncCopyOp::create(builder, op->getLoc(), source->first, source->second, target->first, target->second,
                               copy.getCount(), copy.getValid());
      op->erase();
      return success();
    }
    Value memref;
    ValueRange indices;
    Value place; // of an op with one index
    if (auto load = dyn_cast<vxk::LoadFragmentOp>(op))
      memref = load.getMemory(), place = load.getAt(), indices = place;
    else if (auto load = dyn_cast<memref::LoadOp>(op))
      memref = load.getMemRef(), indices = load.getIndices();
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      memref = store.getMemRef(), indices = store.getIndices();
    else if (auto load = dyn_cast<vector::LoadOp>(op))
      memref = load.getBase(), indices = load.getIndices();
    else
      memref = cast<vector::StoreOp>(op).getBase(), indices = cast<vector::StoreOp>(op).getIndices();
    auto flat = address(op, memref, indices);
    if (failed(flat))
      return failure();
    auto [root, index] = *flat;
    Location loc = op->getLoc();
    if (isa<memref::LoadOp>(op))
      op->getResult(0).replaceAllUsesWith(memref::LoadOp::create(builder, loc, root, index));
    else if (auto load = dyn_cast<vxk::LoadFragmentOp>(op))
      op->getResult(0).replaceAllUsesWith(
          vxk::LoadFragmentOp::create(builder, loc, load.getType(), root, index, load.getStride(), load.getAlongSum()));
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      memref::StoreOp::create(builder, loc, store.getValueToStore(), root, index);
    else if (auto load = dyn_cast<vector::LoadOp>(op))
      op->getResult(0).replaceAllUsesWith(vector::LoadOp::create(builder, loc, load.getVectorType(), root, index));
    else
      vector::StoreOp::create(builder, loc, cast<vector::StoreOp>(op).getValueToStore(), root, index);
    op->erase();
    return success();
  }

  /// The views are dead now; whatever still uses one is not an access that this pass knows.
  LogicalResult eraseDead() {
    SmallVector<Operation *> views;
    func.walk([&](Operation *op) {
      if (op->getNumResults() == 1 && isa<MemRefType>(op->getResult(0).getType()))
        views.push_back(op);
      if (isa<memref::DeallocOp>(op))
        views.push_back(op);
    });
    for (Operation *op : llvm::reverse(views))
      if (op->use_empty())
        op->erase();
    WalkResult result = func.walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (auto type = dyn_cast<MemRefType>(operand.getType()); type && type.getRank() != 1) {
          op->emitOpError() << "expects accesses by load and store only, got an operand of type " << type;
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  func::FuncOp func;
  OpBuilder builder;
  DenseMap<Value, View> views;
};

struct FlattenMemrefs : vx::impl::FlattenMemrefsPassBase<FlattenMemrefs> {
  void runOnOperation() override {
    if (failed(Flattener(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
