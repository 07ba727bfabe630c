#include "KernelLowering.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "vx/base/philox.h"

using namespace mlir;

namespace vx {
namespace {

Value read(OpBuilder &b, Location loc, Value tensor, ValueRange indices) {
  return tensor::ExtractOp::create(b, loc, tensor, indices);
}

SmallVector<Value> loopIndices(OpBuilder &b, Location loc, int64_t rank) {
  SmallVector<Value> indices;
  for (int64_t d = 0; d < rank; ++d)
    indices.push_back(linalg::IndexOp::create(b, loc, d));
  return indices;
}

/// The elements of a constant as bodies have them.
DenseElementsAttr toBodyType(DenseElementsAttr elements, Type bodyType) {
  Type element = elements.getElementType();
  if (element == bodyType)
    return elements;
  unsigned width = bodyType.getIntOrFloatBitWidth();
  if (!isPacked(element))
    return elements.bitcast(bodyType);
  if (auto floats = dyn_cast<DenseFPElementsAttr>(elements))
    return floats.mapValues(bodyType, [&](const APFloat &number) { return number.bitcastToAPInt().zext(width); });
  return cast<DenseIntElementsAttr>(elements).mapValues(bodyType, [&](const APInt &number) {
    return element.isUnsignedInteger() ? number.zext(width) : number.sext(width);
  });
}

LogicalResult lowerConstant(KernelLowering &lowering, ConstantOp op) {
  auto type = typeOf(op.getResult());
  Type bodyType = getBodyType(type.getElementType());
  auto bodyTensor = RankedTensorType::get(type.getShape(), bodyType);
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue())) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob()) {
      bool detectedSplat = false;
      if (DenseElementsAttr::isValidRawBuffer(bodyTensor, blob->getData(), detectedSplat))
        elements = DenseElementsAttr::getFromRawBuffer(bodyTensor, blob->getData());
    }
  }
  if (!elements)
    return op.emitOpError() << "expects inline elements, or a resource of the size of " << type << ", got neither";
  elements = toBodyType(elements, bodyType);
  elements = elements.isSplat() ? elements.resizeSplat(bodyTensor) : elements.reshape(bodyTensor);
  lowering.set(op.getResult(), arith::ConstantOp::create(lowering.builder, op.getLoc(), elements));
  return success();
}

/// Dimensions of both shapes that hold the same elements, as [begin, end) of the input's and of the result's.
struct ReshapeGroup {
  int64_t inputBegin, inputEnd, resultBegin, resultEnd;
};

/// Cuts both shapes, from the inner end, into the smallest groups of equal size that can be proven.
SmallVector<ReshapeGroup> groupDims(ArrayRef<DimAttr> input, ArrayRef<DimAttr> result, MLIRContext *context) {
  SmallVector<ReshapeGroup> groups;
  int64_t i = input.size(), r = result.size();
  DimAttr one = DimAttr::constant(context, 1);
  while (i > 0 || r > 0) {
    int64_t inputEnd = i, resultEnd = r;
    // The shortest pair of suffixes with equal products, both not empty where possible.
    bool found = false;
    DimAttr inputProduct = one;
    for (int64_t a = inputEnd - 1; a >= 0 && !found; --a) {
      inputProduct = inputProduct * input[a];
      DimAttr resultProduct = one;
      for (int64_t c = resultEnd - 1; c >= 0; --c) {
        resultProduct = resultProduct * result[c];
        if (resultProduct == inputProduct && inputProduct != one) {
          i = a;
          r = c;
          found = true;
          break;
        }
      }
    }
    if (!found)
      i = r = 0; // What is left is one group; sizes of 1 included.
    groups.push_back({i, inputEnd, r, resultEnd});
  }
  return groups;
}

Value lowerReshape(KernelLowering &lowering, ReshapeOp op) {
  auto inputType = typeOf(op.getInput()), resultType = typeOf(op.getResult());
  Location loc = op.getLoc();
  SmallVector<DimAttr> inputDims = getDims(inputType), resultDims = getDims(resultType);
  auto groups = groupDims(inputDims, resultDims, op.getContext());
  Value input = lowering.get(op.getInput());
  SmallVector<Value> inputSizes, resultSizes;
  for (DimAttr dim : inputDims)
    inputSizes.push_back(lowering.dim(loc, dim));
  for (DimAttr dim : resultDims)
    resultSizes.push_back(lowering.dim(loc, dim));
  Value zero = lowering.index(loc, 0);
  auto isOne = [](DimAttr dim) { return dim.asConstant() == 1; };
  return lowering.elementwise(
      loc, resultType, getBodyType(resultType.getElementType()), {},
      [&](OpBuilder &b, Location l, ValueRange) -> Value {
        SmallVector<Value> at = loopIndices(b, l, resultType.getRank());
        SmallVector<Value> indices(inputType.getRank(), zero);
        for (const ReshapeGroup &group : groups) {
          // The number of the element in the group; dimensions of size 1 add nothing.
          Value linear;
          for (int64_t d = group.resultBegin; d < group.resultEnd; ++d) {
            if (isOne(resultDims[d]))
              continue;
            linear =
                linear ? Value(arith::AddIOp::create(b, l, arith::MulIOp::create(b, l, linear, resultSizes[d]), at[d]))
                       : at[d];
          }
          if (!linear)
            continue;
          SmallVector<int64_t> wide;
          for (int64_t d = group.inputBegin; d < group.inputEnd; ++d)
            if (!isOne(inputDims[d]))
              wide.push_back(d);
          for (size_t k = wide.size(); k-- > 1;) {
            Value quotient = arith::DivUIOp::create(b, l, linear, inputSizes[wide[k]]);
            indices[wide[k]] = arith::RemUIOp::create(b, l, linear, inputSizes[wide[k]]);
            linear = quotient;
          }
          if (!wide.empty())
            indices[wide.front()] = linear;
        }
        return read(b, l, input, indices);
      });
}

Value lowerBroadcast(KernelLowering &lowering, BroadcastOp op) {
  auto inputType = typeOf(op.getInput()), resultType = typeOf(op.getResult());
  Location loc = op.getLoc();
  int64_t rank = resultType.getRank();
  SmallVector<AffineExpr> exprs;
  bool isAffine = true;
  for (auto [d, target] : llvm::enumerate(op.getDimensions())) {
    DimAttr size = getDim(inputType, d);
    if (size.asConstant() == 1)
      exprs.push_back(getAffineConstantExpr(0, op.getContext()));
    else
      exprs.push_back(getAffineDimExpr(target, op.getContext()));
    // A size that is neither 1 nor the result's may be either when the kernel runs.
    isAffine &= size.asConstant().has_value() || size == getDim(resultType, target);
  }
  Value input = lowering.get(op.getInput());
  Type element = getBodyType(resultType.getElementType());
  if (isAffine)
    return lowering.parallel(loc, resultType, element, input, AffineMap::get(rank, 0, exprs, op.getContext()),
                             [](OpBuilder &, Location, ValueRange args) { return args[0]; });
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < inputType.getRank(); ++d)
    sizes.push_back(lowering.size(loc, op.getInput(), d));
  Value zero = lowering.index(loc, 0), one = lowering.index(loc, 1);
  return lowering.elementwise(loc, resultType, element, {}, [&](OpBuilder &b, Location l, ValueRange) {
    SmallVector<Value> at = loopIndices(b, l, rank), indices;
    for (auto [d, target] : llvm::enumerate(op.getDimensions())) {
      Value isOne = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, sizes[d], one);
      indices.push_back(arith::SelectOp::create(b, l, isOne, zero, at[target]));
    }
    return read(b, l, input, indices);
  });
}

Value lowerSlice(KernelLowering &lowering, SliceOp op) {
  auto resultType = typeOf(op.getResult());
  Location loc = op.getLoc();
  Value input = lowering.get(op.getInput());
  SmallVector<Value> starts;
  for (DimAttr start : op.getStarts().getAsRange<DimAttr>())
    starts.push_back(lowering.dim(loc, start));
  return lowering.elementwise(
      loc, resultType, getBodyType(resultType.getElementType()), {}, [&](OpBuilder &b, Location l, ValueRange) {
        SmallVector<Value> indices = loopIndices(b, l, resultType.getRank());
        for (auto [d, stride] : llvm::enumerate(op.getStrides())) {
          if (stride != 1)
            indices[d] = arith::MulIOp::create(b, l, indices[d], arith::ConstantIndexOp::create(b, l, stride));
          if (cast<DimAttr>(op.getStarts()[d]).asConstant() != 0)
            indices[d] = arith::AddIOp::create(b, l, indices[d], starts[d]);
        }
        return read(b, l, input, indices);
      });
}

Value lowerConcat(KernelLowering &lowering, ConcatOp op) {
  auto resultType = typeOf(op.getResult());
  Location loc = op.getLoc();
  int64_t axis = op.getAxis();
  Type element = getBodyType(resultType.getElementType());
  // Where each input begins, and where the last one ends.
  DimAttr begin = DimAttr::constant(op.getContext(), 0);
  SmallVector<Value> inputs, begins;
  for (Value input : op.getInputs()) {
    inputs.push_back(lowering.get(input));
    begins.push_back(lowering.dim(loc, begin));
    begin = begin + getDim(typeOf(input), axis);
  }
  return lowering.elementwise(loc, resultType, element, {}, [&](OpBuilder &b, Location l, ValueRange) -> Value {
    SmallVector<Value> at = loopIndices(b, l, resultType.getRank());
    auto readInput = [&](OpBuilder &inner, size_t k) {
      SmallVector<Value> indices = at;
      indices[axis] = arith::SubIOp::create(inner, l, at[axis], begins[k]);
      return read(inner, l, inputs[k], indices);
    };
    // if (i < begin[1]) inputs[0] else if (i < begin[2]) inputs[1] ... else the last. Of many inputs the half is found
    // first in which the place lies.
    std::function<Value(OpBuilder &, size_t, size_t)> choose = [&](OpBuilder &inner, size_t first, size_t count) {
      if (count == 1)
        return readInput(inner, first);
      size_t left = count > 4 ? count / 2 : 1;
      Value isLeft = arith::CmpIOp::create(inner, l, arith::CmpIPredicate::slt, at[axis], begins[first + left]);
      return guardedRead(
          inner, l, isLeft, [&](OpBuilder &then) { return choose(then, first, left); },
          [&](OpBuilder &rest) { return choose(rest, first + left, count - left); }, element);
    };
    return choose(b, 0, inputs.size());
  });
}

Value lowerPad(KernelLowering &lowering, PadOp op) {
  auto resultType = typeOf(op.getResult());
  Location loc = op.getLoc();
  Value input = lowering.get(op.getInput()), value = lowering.get(op.getValue());
  SmallVector<Value> lows, sizes;
  SmallVector<bool> changes;
  for (int64_t d = 0; d < resultType.getRank(); ++d) {
    auto low = cast<DimAttr>(op.getLow()[d]), high = cast<DimAttr>(op.getHigh()[d]);
    changes.push_back(low.asConstant() != 0 || high.asConstant() != 0);
    lows.push_back(lowering.dim(loc, low));
    sizes.push_back(lowering.size(loc, op.getInput(), d));
  }
  return lowering.elementwise(loc, resultType, getBodyType(resultType.getElementType()), {},
                              [&](OpBuilder &b, Location l, ValueRange) -> Value {
                                SmallVector<Value> indices = loopIndices(b, l, resultType.getRank()), conditions;
                                for (int64_t d = 0; d < resultType.getRank(); ++d) {
                                  if (!changes[d])
                                    continue;
                                  indices[d] = arith::SubIOp::create(b, l, indices[d], lows[d]);
                                  conditions.push_back(isInside(b, l, indices[d], sizes[d]));
                                }
                                return guardedRead(
                                    b, l, conditions, [&](OpBuilder &inner) { return read(inner, l, input, indices); },
                                    [&](OpBuilder &inner) { return read(inner, l, value, {}); },
                                    getBodyType(resultType.getElementType()));
                              });
}

Value lowerPack(KernelLowering &lowering, PackOp op) {
  auto type = typeOf(op.getResult()), inputType = typeOf(op.getInput());
  Location loc = op.getLoc();
  Value input = lowering.get(op.getInput()), size = lowering.size(loc, op.getInput(), op.getDim());
  Type bodyType = getBodyType(type.getElementType());
  int64_t rank = inputType.getRank(), inner = op.getInner(), last = op.getPermutation().back();
  auto isMultiple = [&](int64_t dim, int64_t of) { return getDim(inputType, dim).asConstant().value_or(1) % of == 0; };
  bool isWhole = isMultiple(op.getDim(), op.getTile()), isWholeInside = inner == 1 || isMultiple(last, inner);
  Value length = isWholeInside ? Value() : lowering.size(loc, op.getInput(), last);
  return lowering.elementwise(loc, type, bodyType, {}, [&](OpBuilder &b, Location l, ValueRange) -> Value {
    SmallVector<Value> at = loopIndices(b, l, type.getRank()), indices(inputType.getRank());
    for (auto [place, from] : llvm::enumerate(op.getPermutation()))
      indices[from] = at[place];
    auto join = [&](int64_t dim, int64_t together, Value within) {
      Value count = arith::ConstantIndexOp::create(b, l, together);
      indices[dim] = arith::AddIOp::create(b, l, arith::MulIOp::create(b, l, indices[dim], count), within);
    };
    join(op.getDim(), op.getTile(), at[rank]);
    if (inner > 1)
      join(last, inner, at[rank + 1]);
    SmallVector<Value> conditions;
    if (!isWhole)
      conditions.push_back(isInside(b, l, indices[op.getDim()], size));
    if (!isWholeInside)
      conditions.push_back(isInside(b, l, indices[last], length));
    return guardedRead(
        b, l, conditions, [&](OpBuilder &inner) { return read(inner, l, input, indices); },
        [&](OpBuilder &inner) { return constantScalar(inner, l, bodyType, 0); }, bodyType);
  });
}

Value lowerUnpack(KernelLowering &lowering, UnpackOp op) {
  auto type = typeOf(op.getResult());
  Location loc = op.getLoc();
  Value input = lowering.get(op.getInput());
  int64_t dim = op.getDim(), inner = op.getInner(), last = op.getPermutation().back();
  Value result = lowering.elementwise(
      loc, type, getBodyType(type.getElementType()), {}, [&](OpBuilder &b, Location l, ValueRange) -> Value {
        SmallVector<Value> at = loopIndices(b, l, type.getRank()), indices;
        Value tile = arith::ConstantIndexOp::create(b, l, op.getTile());
        Value neighbours = inner > 1 ? arith::ConstantIndexOp::create(b, l, inner).getResult() : Value();
        for (int64_t from : op.getPermutation()) {
          Value together = from == dim ? tile : from == last ? neighbours : Value();
          indices.push_back(together ? arith::DivUIOp::create(b, l, at[from], together).getResult() : at[from]);
        }
        indices.push_back(arith::RemUIOp::create(b, l, at[dim], tile));
        if (inner > 1)
          indices.push_back(arith::RemUIOp::create(b, l, at[last], neighbours));
        return read(b, l, input, indices);
      });
  // For strategies that read the packed form as it lies in memory.
  result.getDefiningOp()->setAttr(
      vxk::kUnpackingAttr, vxk::UnpackingAttr::get(op.getContext(), dim, op.getPermutation(), inner,
                                                   isPacked(type.getElementType()) ? type.getElementType() : Type()));
  return result;
}

Value lowerIota(KernelLowering &lowering, IotaOp op) {
  auto type = typeOf(op.getResult());
  Type vxElement = type.getElementType();
  return lowering.elementwise(op.getLoc(), type, getBodyType(vxElement), {},
                              [&](OpBuilder &b, Location l, ValueRange) -> Value {
                                Value at = linalg::IndexOp::create(b, l, op.getAxis());
                                Type i64 = b.getI64Type();
                                return convertScalar(b, l, arith::IndexCastOp::create(b, l, i64, at), i64, vxElement);
                              });
}

/// Word `place` mod 4 of the block of the stream, which `place` is in. Products of words are made of 64 bits: every
/// target has an instruction for both halves of one.
Value drawWord(OpBuilder &b, Location loc, Value place, Value key, uint64_t stream) {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto word = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(b, loc, IntegerAttr::get(i32, APInt(32, value)));
  };
  auto wide = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, i64, value); };
  auto low = [&](Value value) -> Value { return arith::TruncIOp::create(b, loc, i32, value); };
  auto high = [&](Value value) -> Value { return low(arith::ShRUIOp::create(b, loc, value, wide(32))); };
  auto mix = [&](Value a, Value c, Value k) -> Value {
    return arith::XOrIOp::create(b, loc, arith::XOrIOp::create(b, loc, a, c), k);
  };
  Value block = arith::ShRUIOp::create(b, loc, place, wide(2));
  Value words[4] = {low(block), high(block), word(static_cast<uint32_t>(stream)),
                    word(static_cast<uint32_t>(stream >> 32))};
  Value keys[2] = {low(key), high(key)};
  for (int round = 0; round < Philox::rounds; ++round) {
    Value products[2];
    for (int i = 0; i < 2; ++i)
      products[i] = arith::MulIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i64, words[2 * i]),
                                          wide(Philox::multipliers[i]));
    Value next[4] = {mix(high(products[1]), words[1], keys[0]), low(products[1]),
                     mix(high(products[0]), words[3], keys[1]), low(products[0])};
    llvm::copy(next, words);
    if (round + 1 < Philox::rounds)
      for (int i = 0; i < 2; ++i)
        keys[i] = arith::AddIOp::create(b, loc, keys[i], word(Philox::steps[i]));
  }
  auto choose = [&](Value bits, uint32_t bit, Value set, Value clear) -> Value {
    Value isSet = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                        arith::AndIOp::create(b, loc, bits, word(bit)), word(0));
    return arith::SelectOp::create(b, loc, isSet, set, clear);
  };
  Value number = low(place);
  return choose(number, 2, choose(number, 1, words[3], words[2]), choose(number, 1, words[1], words[0]));
}

Value lowerRandomBits(KernelLowering &lowering, RandomBitsOp op) {
  auto type = typeOf(op.getResult());
  Location loc = op.getLoc();
  SmallVector<Value> sizes = lowering.sizes(loc, type);
  return lowering.parallel(loc, type, getBodyType(type.getElementType()), lowering.get(op.getKey()),
                           AffineMap::get(type.getRank(), 0, {}, op.getContext()),
                           [&](OpBuilder &b, Location l, ValueRange args) -> Value {
                             Value place = arith::IndexCastOp::create(b, l, b.getI64Type(), getFlatPlace(b, l, sizes));
                             return drawWord(b, l, place, args[0], op.getNumber());
                           });
}

Value lowerTranspose(KernelLowering &lowering, TransposeOp op) {
  // Result dimension d runs along the input's dimension permutation[d].
  SmallVector<AffineExpr> exprs(op.getPermutation().size());
  for (auto [d, from] : llvm::enumerate(op.getPermutation()))
    exprs[from] = getAffineDimExpr(d, op.getContext());
  auto type = typeOf(op.getResult());
  return lowering.parallel(op.getLoc(), type, getBodyType(type.getElementType()), lowering.get(op.getInput()),
                           AffineMap::get(type.getRank(), 0, exprs, op.getContext()),
                           [](OpBuilder &, Location, ValueRange args) { return args[0]; });
}

Value lowerDimValue(KernelLowering &lowering, DimValueOp op) {
  Value value = lowering.dim(op.getLoc(), op.getValue());
  value = arith::IndexCastOp::create(lowering.builder, op.getLoc(), lowering.builder.getI64Type(), value);
  return tensor::FromElementsOp::create(lowering.builder, op.getLoc(), RankedTensorType::get({}, value.getType()),
                                        value);
}

} // namespace

void addShapeLowerings(LoweringTable &table) {
  table.add<ConstantOp, lowerConstant>();
  table.add<ReshapeOp, lowerReshape>();
  table.add<BroadcastOp, lowerBroadcast>();
  table.add<SliceOp, lowerSlice>();
  table.add<ConcatOp, lowerConcat>();
  table.add<PadOp, lowerPad>();
  table.add<IotaOp, lowerIota>();
  table.add<RandomBitsOp, lowerRandomBits>();
  table.add<PackOp, lowerPack>();
  table.add<UnpackOp, lowerUnpack>();
  table.add<TransposeOp, lowerTranspose>();
  table.add<DimValueOp, lowerDimValue>();
}

} // namespace vx
