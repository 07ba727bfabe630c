#include "packed_cases.h"

#include "input_file.h"
#include "output_file.h"
#include "tensor_file.h"
#include "tool_error.h"

#include "vx/abi/module_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace vx::tools {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static constexpr std::string_view SecondSuffix = ".second";

static std::string fileOf(const std::string &folder, Mode mode, const std::string &target, std::string_view kind) {
  return fmt::format("{}/{}.{}.{}", folder, modeName(mode), target, kind);
}

// A model without a folder gets one, and its inputs are in files there.
static void packModel(const CaseFolder &model, const fs::path &packed) {
  const CaseData data(model);
  const CaseData::Set &set = data.sets().front();
  fs::copy(model.path, packed / "model.onnx");
  const fs::path folder = packed / set.name;
  fs::create_directory(folder);
  for (int i = 0; i < data.graph().input_size(); ++i)
    if (const auto made = set.made.find(data.graph().input(i).name()); made != set.made.end())
      writeFile(folder / fmt::format("input_{}.pb", i),
                formatTensorFile(made->first, Value{VX_TENSOR, made->second.type, {made->second}}));
  for (int i = 0; i < data.graph().output_size(); ++i)
    fs::copy(set.outputs.at(data.graph().output(i).name()), folder / fmt::format("output_{}.pb", i));
}

void packCases(const std::vector<CaseFolder> &cases, const std::string &folder) try {
  fs::create_directories(folder);
  if (!fs::is_empty(folder))
    throw usageError("--compile-only: expected a new or empty folder, got '{}', which has files", folder);
  for (const CaseFolder &one : cases) {
    const fs::path packed = fs::path(folder) / one.name;
    fs::create_directory(packed);
    if (one.isModel()) {
      packModel(one, packed);
      continue;
    }
    // What belongs to a case: not what an earlier run has packed beside it.
    for (const fs::directory_entry &entry : fs::directory_iterator(one.path))
      if (entry.path().extension() != SecondSuffix && (entry.is_directory() || entry.path().extension() != ".vxm") &&
          entry.path().extension() != ".unsupported")
        fs::copy(entry.path(), packed / entry.path().filename(), fs::copy_options::recursive);
  }
} catch (const fs::filesystem_error &error) {
  throw workError("--compile-only: cannot write '{}': {}",
                  error.path2().empty() ? error.path1().string() : error.path2().string(), error.code().message());
}

void packCompiled(const std::string &folder, const std::string &name, Mode mode, const std::string &target,
                  const CompiledCase &compiled) {
  const std::string packed = folder + "/" + name;
  if (compiled.result == CompiledCase::Result::Done)
    writeFile(fileOf(packed, mode, target, "vxm"),
              {reinterpret_cast<const uint8_t *>(compiled.bytes.data()), compiled.bytes.size()});
  else if (compiled.result == CompiledCase::Result::Unsupported)
    writeFile(fileOf(packed, mode, target, "unsupported"), compiled.errors);
}

static std::string secondFolder(const std::string &folder, Mode mode) {
  return fmt::format("{}/{}{}", folder, modeName(mode), SecondSuffix);
}

// Writes outputs to PREFIX_K.pb, and gives their names and kinds.
static Json packOutputs(const ReferenceModel::Values &outputs, const std::string &prefix) {
  Json list = Json::array();
  for (const auto &[output, value] : outputs) {
    writeFile(fmt::format("{}_{}.pb", prefix, list.size()), formatTensorFile(output, value));
    list.push_back({{"name", output}, {"kind", static_cast<int>(value.kind)}});
  }
  return list;
}

static ReferenceModel::Values unpackOutputs(const Json &list, const std::string &prefix) {
  ReferenceModel::Values outputs;
  for (size_t i = 0; i < list.size(); ++i)
    outputs.emplace(list[i].at("name"),
                    readTensorFile(fmt::format("{}_{}.pb", prefix, i), static_cast<vx_value_kind>(list[i].at("kind"))));
  return outputs;
}

void packSecondSizes(const std::string &folder, const std::string &name, Mode mode, const SecondSizes &second) {
  const std::string packed = secondFolder(folder + "/" + name, mode);
  Json json{{"result", SecondSizesNames[static_cast<size_t>(second.result)]}, {"message", second.message}};
  std::error_code error;
  fs::create_directory(packed, error); // writeFile says what is wrong
  if (!second.calls.empty()) {
    const SizedCall &call = second.calls.front();
    json["sizes"] = call.sizes;
    json["refusal"] = call.refusal;
    json["inputs"] = Json::object();
    for (const auto &[input, value] : call.inputs)
      if (value.kind == VX_TENSOR)
        json["inputs"][input] = value.tensors.front().dims;
    json["outputs"] = packOutputs(call.outputs, packed + "/output");
  }
  json["own"] = Json::array();
  for (const SizedCall &call : second.own)
    json["own"].push_back(
        {{"refusal", call.refusal},
         {"outputs", packOutputs(call.outputs, fmt::format("{}/own_{}", packed, json["own"].size()))}});
  writeFile(packed + "/call.json", json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

SecondSizes unpackSecondSizes(const CaseFolder &folder, Mode mode, const CaseData &data) try {
  const std::string packed = secondFolder(folder.path, mode), file = packed + "/call.json";
  if (!fs::exists(file))
    return {SecondSizesResult::Untried};
  const std::vector<uint8_t> bytes = readFile(file);
  const Json json = Json::parse(bytes.begin(), bytes.end());
  SecondSizes second{valueOf<SecondSizesResult>(SecondSizesNames, json.at("result").get<std::string>()).value(),
                     json.at("message")};
  const Json &own = json.at("own");
  for (size_t i = 0; i < std::min(own.size(), data.sets().size()); ++i)
    second.own.push_back({"", inputsOf(data, data.sets()[i]),
                          unpackOutputs(own[i].at("outputs"), fmt::format("{}/own_{}", packed, i)),
                          own[i].at("refusal")});
  if (!json.contains("sizes"))
    return second;
  SizedCall call{json.at("sizes"), inputsOf(data, data.sets().front()),
                 unpackOutputs(json.at("outputs"), packed + "/output"), json.at("refusal")};
  for (const auto &[input, dims] : json.at("inputs").items())
    if (Tensor &tensor = call.inputs.at(input).tensors.front(); tensor.dims != dims.get<std::vector<int64_t>>())
      tensor = resized(tensor, dims);
  second.calls.push_back(std::move(call));
  return second;
} catch (const Json::exception &error) {
  throw fileError("{}/call.json: {}", secondFolder(folder.path, mode), error.what());
}

bool isPacked(const CaseFolder &folder, Mode mode, const std::string &target) {
  return fs::exists(fileOf(folder.path, mode, target, "vxm")) ||
         fs::exists(fileOf(folder.path, mode, target, "unsupported"));
}

uint64_t packedHash(const CaseFolder &folder, Mode mode, const std::string &target) {
  const std::string module = fileOf(folder.path, mode, target, "vxm");
  std::vector<uint8_t> bytes = readFile(fs::exists(module) ? module : fileOf(folder.path, mode, target, "unsupported"));
  const std::string second = secondFolder(folder.path, mode);
  std::vector<std::string> files;
  if (fs::exists(second))
    for (const fs::directory_entry &entry : fs::directory_iterator(second))
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string &file : files) {
    const std::vector<uint8_t> more = readFile(file);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return vx_hash64(bytes.data(), bytes.size());
}

CompiledCase unpackCompiled(const CaseFolder &folder, Mode mode, const std::string &target) {
  CompiledCase compiled;
  compiled.file = fileOf(folder.path, mode, target, "vxm");
  if (fs::exists(compiled.file))
    return compiled;
  compiled.result = CompiledCase::Result::Unsupported;
  const std::vector<uint8_t> reason = readFile(fileOf(folder.path, mode, target, "unsupported"));
  compiled.errors.assign(reason.begin(), reason.end());
  return compiled;
}

} // namespace vx::tools
