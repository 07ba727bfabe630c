// Ops that recorded graphs have and ONNX does not.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

/// Gives the value the sizes of `dims`, if its own may be equal to them. The call checks those that are not known.
static void importAs(NodeImporter &n) {
  Value value = n.getTensor(0);
  Dims have = vx::getDims(typeOf(value)), want;
  for (StringRef text : n.getStrings("dims")) {
    DimAttr own = want.size() < have.size() ? have[want.size()] : DimAttr();
    want.push_back(text == "?" ? own : DimAttr::fromString(n.context, text));
  }
  if (have.size() != want.size())
    throwInvalid("needs a tensor of " + Twine(want.size()) + " dimensions, got " + describe(value.getType()));
  for (auto [place, sizes] : llvm::enumerate(llvm::zip(have, want))) {
    auto [own, wanted] = sizes;
    if (!mayBeEqual(own, wanted))
      throwInvalid("needs dimension " + Twine(place) + " to be " + wanted.str() + ", got " + describe(value.getType()));
    if (own != wanted)
      n.require(ConstraintKind::equal, own, wanted);
  }
  n.setOutput(0, n.reshape(value, want));
}

static void importStopGradient(NodeImporter &n) { n.setOutput(0, n.emit<StopGradientOp>(n.getTensor(0))); }

static void importLoss(NodeImporter &n) {
  const std::string loss = n.getString("loss", "");
  Value target = n.hasInput(1) ? n.getTensor(1) : Value(), weights = n.hasInput(2) ? n.getTensor(2) : Value();
  const RecorderOptions::LossValues values = n.model.recording->buildLoss(n, loss, n.getTensor(0), target, weights);
  if (!values.loss)
    throwInvalid(n.model.takeDiagnostics());
  n.setOutput(0, values.loss);
  if (!n.wantsOutput(1))
    return;
  if (!values.accuracy)
    throwInvalid("has no accuracy: '" + loss + "'");
  n.setOutput(1, values.accuracy);
}

/// Selects the element of each row at an index, as the row's sum of a selection. So its gradient needs no scatter.
static void importPick(NodeImporter &n) {
  Value rows = n.getTensor(0), indices = n.getTensor(1);
  Dims dims = vx::getDims(typeOf(rows)), own = vx::getDims(typeOf(indices));
  const int64_t axis = static_cast<int64_t>(dims.size()) - 1;
  if (axis < 0 || n.getInt("axis") != axis || own.size() + 1 != dims.size() || !elementOf(indices).isInteger(64))
    throwInvalid("needs an index of i64 for each row, got " + describe(indices.getType()) + " for " +
                 describe(rows.getType()));
  for (auto [have, want] : llvm::zip(own, dims))
    if (have != want)
      n.require(ConstraintKind::equal, have, want);
  indices = n.reshape(indices, ArrayRef<DimAttr>(dims).drop_back());
  indices = n.emit<CheckIndicesOp>(indices, n.toArray({dims.back()}), /*from_start=*/true);
  Value numbers = n.emitAs<IotaOp>(makeTensorType({dims.back()}, elementOf(indices)), 0);
  Value isIt = n.emit<CompareOp>(ComparePredicate::eq, n.broadcastInDim(numbers, dims, axis),
                                 n.broadcastAlong(indices, dims, {axis}));
  n.setOutput(0, n.reduce(ReduceKind::sum, n.emit<SelectOp>(isIt, rows, n.splatLike(0, rows)), {axis}));
}

static constexpr OpTableEntry recordedTable[] = {
    {"As", 1, newestBuilderOpset, importAs},
    {"Loss", 1, newestBuilderOpset, importLoss},
    {"Pick", 1, newestBuilderOpset, importPick},
    {"StopGradient", 1, newestBuilderOpset, importStopGradient},
};
const llvm::ArrayRef<OpTableEntry> recordedOps = recordedTable;

} // namespace vx::onnx
