// Session::save and Session::load: variables by name, and how far training has come.
#include "checkpoint_file.h"
#include "failure.h"
#include "fit.h"
#include "saved_variables.h"
#include "vx/abi/module_header.h"
#include "vx/train/session.hpp"
#include "written_file.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace vx::train {

namespace {

std::string typeOf(const vx_variable_info &variable) {
  return typeText(variable.element_type, {variable.dims, variable.rank});
}

// Of what a checkpoint must agree in with the module: names, types and dims of variables, and inputs.
std::string moduleHash(const Instance &instance, const vx_training_info &training) {
  std::string text;
  for (const SavedVariable &saved : savedVariables(instance))
    text += fmt::format("{} {} {}\n", saved.key, vx_variable_role_name(saved.variable->role), typeOf(*saved.variable));
  text += fmt::format("{}\n{}\n", training.optimizer, training.loss);
  return fmt::format("{:016x}", vx_hash64(text.data(), text.size()));
}

// What a checkpoint keeps for others, key by key.
constexpr const char *OwnKeys[] = {CheckpointKey, HashKey, "module", "optimizer", "loss",
                                   "step",        "epoch", "row",    "seed"};

} // namespace

void Session::save(const std::string &path, Contents contents) const {
  std::vector<SavedVariable> saved = savedVariables(instance);
  if (contents == Contents::weights)
    std::erase_if(saved, [](const SavedVariable &one) { return !isWeight(one.variable->role); });
  for (const SavedVariable &one : saved)
    if (!safeTensorTypeName(one.variable->element_type))
      throw argumentError("variable '{}' is {}, which safetensors has no name for", one.variable->name,
                          typeOf(*one.variable));
  // Larger elements first, so that each tensor begins at a multiple of its element's size.
  std::sort(saved.begin(), saved.end(), [](const SavedVariable &a, const SavedVariable &b) {
    const uint32_t aBits = vx_element_type_bits(a.variable->element_type);
    const uint32_t bBits = vx_element_type_bits(b.variable->element_type);
    return aBits != bBits ? aBits > bBits : a.key < b.key;
  });
  std::vector<std::string> names;
  for (const SavedVariable &one : saved)
    names.emplace_back(one.variable->name);
  const std::vector<Value> values = instance.readVariables(names);

  SafeTensors content;
  for (size_t i = 0; i < saved.size(); ++i) {
    const std::span<const std::byte> bytes = values[i].bytes();
    const std::span<const int64_t> dims = values[i].dims();
    content.tensors.push_back({saved[i].key,
                               saved[i].variable->element_type,
                               {dims.begin(), dims.end()},
                               {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}});
  }
  if (contents == Contents::checkpoint) {
    content.metadata = remembered;
    if (running)
      running->remember(content.metadata);
    content.metadata[CheckpointKey] = CheckpointForm;
    content.metadata[HashKey] = hashOf(content.tensors);
    content.metadata["module"] = moduleHash(instance, *training);
    content.metadata["optimizer"] = training->optimizer;
    content.metadata["loss"] = training->loss;
    content.metadata["step"] = std::to_string(position.step);
    content.metadata["epoch"] = std::to_string(position.epoch);
    content.metadata["row"] = std::to_string(position.row);
    content.metadata["seed"] = std::to_string(position.seed);
  }
  const std::vector<uint8_t> header = safeTensorsHeader(content);
  WrittenFile file(path);
  file.write(header.data(), header.size());
  for (const SafeTensor &tensor : content.tensors)
    file.write(tensor.bytes.data(), tensor.bytes.size());
  file.commit();
}

// The newest of a folder that is whole, with a note of each that is not.
static std::string newestWhole(const std::string &folder, std::vector<std::string> &notes) {
  for (const auto &[step, path] : checkpointsIn(folder)) {
    try {
      const CheckpointFile file(path);
      if (file.isCheckpoint())
        return path;
      notes.push_back(fmt::format("{}: no checkpoint", path));
    } catch (const Error &error) {
      notes.push_back(error.what());
    }
  }
  std::string why;
  for (const std::string &note : notes)
    why += "; " + note;
  throw dataError("{}: no whole checkpoint in this folder, expected {}{}", folder, checkpointName(0), why);
}

std::string latest_checkpoint(const std::string &folder) {
  std::vector<std::string> notes;
  return newestWhole(folder, notes);
}

std::vector<std::string> Session::load(const std::string &given) {
  std::vector<std::string> notes;
  std::error_code ignored;
  const CheckpointFile file(std::filesystem::is_directory(given, ignored) ? newestWhole(given, notes) : given);
  std::map<std::string, const SafeTensor *> tensors;
  for (const SafeTensor &tensor : file.tensors())
    tensors[tensor.name] = &tensor;

  // Everything that does not fit, at once.
  std::vector<std::string> names, problems;
  std::vector<Value> values;
  for (const SavedVariable &saved : savedVariables(instance)) {
    const vx_variable_info &variable = *saved.variable;
    auto found = tensors.find(saved.key);
    if (found == tensors.end())
      found = tensors.find(variable.name);
    if (found == tensors.end()) {
      if (file.isCheckpoint() || isWeight(variable.role))
        problems.push_back(fmt::format("'{}' {} is missing", saved.key, typeOf(variable)));
      continue;
    }
    const SafeTensor &tensor = *found->second;
    if (tensor.type != variable.element_type ||
        !std::equal(tensor.dims.begin(), tensor.dims.end(), variable.dims, variable.dims + variable.rank)) {
      problems.push_back(
          fmt::format("'{}' is {}, expected {}", found->first, typeText(tensor.type, tensor.dims), typeOf(variable)));
    } else {
      names.emplace_back(variable.name);
      values.push_back(Value::wrap(tensor.type, tensor.dims, tensor.bytes.data(), tensor.bytes.size()));
    }
    tensors.erase(found);
  }
  for (const auto &[name, tensor] : tensors)
    problems.push_back(fmt::format("nothing takes '{}' {}", name, typeText(tensor->type, tensor->dims)));
  if (!problems.empty()) {
    std::string all;
    for (const std::string &problem : problems)
      all += (all.empty() ? "" : "; ") + problem;
    throw dataError("{}: does not fit the model{}: {}", file.path(),
                    file.isCheckpoint() ? fmt::format(" (the file: {}, {}; the module: {}, {})", file.text("optimizer"),
                                                      file.text("loss"), training->optimizer, training->loss)
                                        : "",
                    all);
  }

  Progress loaded;
  std::map<std::string, std::string> rest;
  if (file.isCheckpoint()) {
    loaded = {file.number("step"), file.number("epoch"), static_cast<int64_t>(file.number("row")), file.number("seed")};
    rest = file.metadata();
    for (const char *key : OwnKeys)
      rest.erase(key);
    if (file.text("module") != moduleHash(instance, *training))
      notes.push_back(fmt::format("{}: a checkpoint of another module, {} by {}, whose variables are the same",
                                  file.path(), file.text("loss"), file.text("optimizer")));
  }
  instance.writeVariables(names, values);
  if (file.isCheckpoint()) {
    position = loaded;
    remembered = std::move(rest);
  }
  return notes;
}

} // namespace vx::train
