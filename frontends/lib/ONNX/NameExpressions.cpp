#include "NameExpressions.h"

using namespace mlir;

namespace vx::onnx {

/// Longer ones get names, once there is one that is too long. Those of real models have below 20 terms.
static constexpr int64_t mostTerms = 8, tooManyTerms = 32;

static bool isLong(DimAttr dim) { return countNodes(dim, mostTerms) > mostTerms; }
static bool isTooLong(DimAttr dim) { return countNodes(dim, tooManyTerms) > tooManyTerms; }

static DimAttr nameOne(NodeImporter &n, DimAttr value, const Twine &name) {
  if (!isLong(value))
    return value;
  DimAttr &known = n.model.expressionNames[n.builder.getInsertionBlock()][value];
  if (known)
    return known;
  Type i64 = n.builder.getI64Type();
  Value number = n.emitDim(value, i64);
  if (isNotNegative(value))
    return known = n.bindSymbol(number, name);
  // A symbol is 0 or more: the difference of two is any number.
  Value zero = n.emitScalar(0, i64);
  DimAttr above = n.bindSymbol(n.emit<MaxOp>(number, zero), name);
  DimAttr below = n.bindSymbol(n.emit<MaxOp>(n.emit<NegOp>(number), zero), "-" + name);
  return known = subDims(above, below);
}

/// Returns nullopt if all of `dims` are short.
static std::optional<Dims> nameAll(NodeImporter &n, ArrayRef<DimAttr> dims, const Twine &name, bool areSizes) {
  if (llvm::none_of(dims, isLong))
    return std::nullopt;
  Dims named;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    // A size is 0 or more, also where its expression does not show that.
    DimAttr value = areSizes && isLong(dim) ? maxDims(dim, n.dim(0)) : dim;
    named.push_back(nameOne(n, value, name + "[" + Twine(index) + "]"));
  }
  return named;
}

bool readsLongExpressions(NodeImporter &n) {
  for (unsigned index = 0; index < n.getNumInputs(); ++index) {
    if (!n.hasInput(index))
      continue;
    const Entry &entry = n.getEntry(index);
    auto type = dyn_cast_or_null<RankedTensorType>(entry.type);
    if (!type || entry.leastRank || entry.constant)
      continue;
    if (llvm::any_of(vx::getDims(type), isTooLong) || (entry.contents && llvm::any_of(*entry.contents, isTooLong)))
      return true;
  }
  return false;
}

void nameLongExpressions(NodeImporter &n) {
  for (unsigned index = 0; index < n.getNumInputs(); ++index) {
    if (!n.hasInput(index))
      continue;
    const std::string &input = n.proto.input(index);
    const Entry &entry = n.getEntry(index);
    auto type = dyn_cast_or_null<RankedTensorType>(entry.type);
    if (!type || entry.leastRank || entry.constant)
      continue;
    std::optional<Dims> dims = nameAll(n, vx::getDims(type), input + ".shape", /*areSizes=*/true), contents;
    if (entry.contents)
      contents = nameAll(n, *entry.contents, input, /*areSizes=*/false);
    if (!dims && !contents)
      continue;
    Entry named = entry;
    if (contents)
      named.contents = contents;
    if (dims) {
      named.value = n.reshape(n.getInput(index), *dims);
      named.type = named.value.getType();
    }
    named.block = n.builder.getInsertionBlock();
    n.model.scope->entries.insert_or_assign(input, std::move(named));
  }
}

} // namespace vx::onnx
