#include "TrainedPlaces.h"

#include "ImportError.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace vx::onnx {

TrainedPlaces::TrainedPlaces(const OnnxSource &source, ModuleOp module) : source(source) {
  for (const auto &[place, values] : source.values)
    for (const OnnxSource::Value &value : values)
      byName[value.name].insert(place);
  llvm::DenseSet<StringAttr> pools;
  for (auto variable : module.getOps<VariableOp>())
    if (FlatSymbolRefAttr pool = variable.getPoolAttr())
      pools.insert(pool.getAttr());
  for (auto variable : module.getOps<VariableOp>())
    if ((variable.getRole() == VariableRole::parameter || variable.getRole() == VariableRole::statistic) &&
        !pools.contains(variable.getSymNameAttr()))
      add(variable);
  if (changedSizes.empty())
    return;
  checkSizes();
  readOutputs(module);
}

const Trained *TrainedPlaces::find(const void *place) const {
  auto found = places.find(place);
  return found == places.end() ? nullptr : &found->second;
}

void TrainedPlaces::add(VariableOp variable) {
  const StringRef name = variable.getSource().value_or(variable.getSymName());
  auto type = cast<RankedTensorType>(variable.getType());
  auto named = byName.find(name);
  if (named == byName.end() && source.isPart)
    return;
  if (named == byName.end())
    throwNotExported("'" + name + "' is trained, but is the value of no initializer and no Constant node");
  SmallVector<const void *> found;
  for (const void *place : named->second)
    if (llvm::any_of(source.getValues(place), [&](const OnnxSource::Value &value) {
          return value.name == name && value.elements == variable.getInitialAttr();
        }))
      found.push_back(place);
  // One that begins with random values has the place of its name.
  if (!variable.getInitialAttr() && named->second.size() == 1)
    found.push_back(named->second.front());
  if (found.empty())
    throwNotExported("'" + name + "' is trained, but " + Twine(named->second.size()) + " of the model's tensors " +
                     (named->second.size() == 1 ? "has" : "have") +
                     " this name, and none of them the values that it begins with");
  for (const void *place : found) {
    for (const OnnxSource::Value &value : source.getValues(place)) {
      if (value.name != name)
        throwNotExported("'" + name + "' is trained, but its tensor in the model is that of '" + value.name + "' too");
      if (value.elements.getElementType() != type.getElementType())
        throwNotExported("'" + name + "' is trained in another element type than the model's: expected " +
                         describeType(value.elements.getElementType()) + ", got " +
                         describeType(type.getElementType()));
    }
    ArrayRef<int64_t> was = source.getValues(place).front().elements.getShapedType().getShape();
    for (auto [index, size] : llvm::enumerate(was))
      if (was.size() != type.getShape().size() || size != type.getShape()[index])
        changedSizes.insert(size);
    if (!places.try_emplace(place, Trained{variable.getSymName(), type}).second)
      throwNotExported("two variables are trained that have the name '" + name + "' in the model");
  }
}

/// A number of the model that may be a size which is another one now.
void TrainedPlaces::checkSizes() const {
  for (const auto &[place, values] : source.values)
    for (const OnnxSource::Value &value : values) {
      auto numbers = dyn_cast<DenseElementsAttr>(value.elements);
      if (!numbers || !numbers.getElementType().isSignlessInteger(64))
        continue;
      for (int64_t number : numbers.getValues<int64_t>())
        if (changedSizes.contains(number))
          throwNotExported("a trained tensor has another size than " + Twine(number) + " of the model's, but '" +
                           value.name + "' has the number " + Twine(number) + ", which may be that size");
    }
}

void TrainedPlaces::readOutputs(ModuleOp module) {
  outputs.emplace();
  auto training = module->getAttrOfType<TrainingAttr>(kTrainingAttr);
  auto predict = training && training.getPredict() ? module.lookupSymbol<func::FuncOp>(training.getPredict())
                                                   : *module.getOps<func::FuncOp>().begin();
  for (auto [number, type] : llvm::enumerate(predict.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto name = predict.getResultAttrOfType<StringAttr>(static_cast<unsigned>(number), "vx.name");
    if (!tensor || !name)
      continue;
    SmallVector<int64_t> &sizes = (*outputs)[name.getValue()];
    for (DimAttr dim : getDims(tensor))
      sizes.push_back(dim.asConstant().value_or(ShapedType::kDynamic));
  }
}

} // namespace vx::onnx
