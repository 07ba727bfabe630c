#include "case_folder.h"

#include "input_file.h"
#include "tensor_file.h"
#include "tool_error.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <filesystem>
#include <tuple>

namespace vx::tools {

namespace pb = vx::onnx;
namespace fs = std::filesystem;

static constexpr std::string_view SetPrefix = "test_data_set_", ModelSuffix = ".onnx", OutputInfix = "_output_";

// The number of "PREFIX12SUFFIX".
static std::optional<size_t> numberIn(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
    return std::nullopt;
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size())
    return std::nullopt;
  return number;
}

// The entries of a folder, sorted.
static std::vector<fs::path> entriesOf(const fs::path &folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  if (error)
    throw fileError("cannot read the folder '{}': {}", folder.string(), error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool CaseFolder::isModel() const { return path.ends_with(ModelSuffix); }
std::string CaseFolder::dataFolder() const { return isModel() ? fs::path(path).parent_path().string() : path; }

static std::string nameOf(std::string name) { return name.starts_with("test_") ? name.substr(5) : name; }

// The file of an output of a model that has no folder.
static std::string outputFile(const fs::path &model, int index) {
  return fmt::format("{}{}{}.pb", fs::path(model).replace_extension().string(), OutputInfix, index);
}

// Without a slash at the end.
static fs::path wholePath(const fs::path &folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

// A folder with a data set and without a model is a case too, one that cannot be read.
static void addCases(const fs::path &folder, const std::string &set, std::vector<CaseFolder> &cases) {
  bool isCase = false;
  std::vector<fs::path> folders;
  for (const fs::path &entry : entriesOf(folder)) {
    std::error_code error;
    const bool isFolder = fs::is_directory(fs::symlink_status(entry, error));
    const std::string name = entry.filename().string();
    if (name == "model.onnx" || (isFolder && numberIn(name, SetPrefix, "")))
      isCase = true;
    else if (isFolder)
      folders.push_back(entry);
    else if (entry.extension() == ModelSuffix && fs::exists(outputFile(entry, 0), error))
      cases.push_back({nameOf(entry.stem().string()), fs::absolute(entry).lexically_normal().string(), set});
  }
  if (!isCase) {
    for (const fs::path &below : folders)
      addCases(below, set, cases);
    return;
  }
  const fs::path path = wholePath(folder);
  cases.push_back({nameOf(path.filename().string()), path.string(), set});
}

std::vector<CaseFolder> findCases(const std::vector<std::string> &folders) {
  std::vector<CaseFolder> cases;
  for (const std::string &folder : folders) {
    const size_t before = cases.size();
    addCases(folder, wholePath(folder).filename().string(), cases);
    if (cases.size() == before)
      throw fileError("'{}' has no case: expected a folder with model.onnx and {}0", folder, SetPrefix);
  }
  std::sort(cases.begin(), cases.end(), [](const CaseFolder &a, const CaseFolder &b) {
    return std::tie(a.name, a.path) < std::tie(b.name, b.path);
  });
  const auto twice = std::adjacent_find(cases.begin(), cases.end(),
                                        [](const CaseFolder &a, const CaseFolder &b) { return a.name == b.name; });
  if (twice != cases.end())
    throw usageError("case '{}' is there twice, in '{}' and '{}'", twice->name, twice->path, std::next(twice)->path);
  return cases;
}

CaseData::CaseData(const CaseFolder &folder) {
  const std::string &path = folder.path;
  const std::string file = folder.isModel() ? path : path + "/model.onnx";
  const std::vector<uint8_t> bytes = readFile(file);
  if (bytes.size() > INT_MAX || !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw fileError("{}: not a ModelProto of ONNX", file);
  if (folder.isModel()) {
    makeSet(path);
    return;
  }
  std::vector<std::pair<size_t, fs::path>> found;
  for (const fs::path &entry : entriesOf(path))
    if (const std::optional<size_t> number = numberIn(entry.filename().string(), SetPrefix, ""))
      found.emplace_back(*number, entry);
  std::sort(found.begin(), found.end());
  for (const auto &[number, folder] : found) {
    Set &set = dataSets.emplace_back();
    set.name = folder.filename().string();
    findFiles(set, folder.string());
  }
  if (dataSets.empty())
    throw fileError("{}: no data, expected a folder {}0", path, SetPrefix);
}

static std::set<std::string> initializersOf(const pb::GraphProto &graph) {
  std::set<std::string> names;
  for (const pb::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  return names;
}

static ToolError missing(const std::string &file, std::string_view kind, const std::string &name) {
  return fileError("{} is missing, the value of {} '{}'", file, kind, name);
}

// ONNX's light models come with outputs alone: they are what the model gives where element i of n is i / n.
void CaseData::makeSet(const std::string &path) {
  Set &set = dataSets.emplace_back();
  set.name = std::string(SetPrefix) + "0";
  const std::set<std::string> initializers = initializersOf(graph());
  for (const pb::ValueInfoProto &input : graph().input()) {
    if (initializers.contains(input.name()))
      continue;
    const pb::TypeProto::Tensor &type = input.type().tensor_type();
    if (!input.type().has_tensor_type() || type.elem_type() != pb::TensorProto::FLOAT)
      throw fileError("{}: input '{}' has no file, and only tensors of f32 are made", path, input.name());
    Tensor tensor{VX_F32, {}, {}};
    for (const pb::TensorShapeProto::Dimension &dim : type.shape().dim())
      tensor.dims.push_back(dim.has_dim_value() ? dim.dim_value() : 1);
    const std::optional<uint64_t> count = elementCount(tensor.type, tensor.dims);
    if (!count || *count > INT_MAX)
      throw fileError("{}: input '{}' is too large to be made, {}", path, input.name(),
                      typeText(tensor.type, tensor.dims));
    tensor.bytes.resize(*count * sizeof(float));
    for (uint64_t i = 0; i < *count; ++i)
      setElement(tensor, i, static_cast<double>(i) / static_cast<double>(*count));
    set.made[input.name()] = std::move(tensor);
  }
  for (int i = 0; i < graph().output_size(); ++i) {
    const std::string file = outputFile(path, i), &name = graph().output(i).name();
    std::error_code error;
    if (!fs::exists(file, error))
      throw missing(file, "output", name);
    set.outputs[name] = file;
  }
}

std::optional<Value> CaseData::Set::input(const std::string &value, vx_value_kind kind) const {
  if (const auto file = inputs.find(value); file != inputs.end())
    return readTensorFile(file->second, kind);
  const auto found = made.find(value);
  if (found == made.end())
    return std::nullopt;
  return Value{VX_TENSOR, found->second.type, {found->second}};
}

// File K is of the K-th input. Inputs that have initializers come last, and may have no file.
void CaseData::findFiles(Set &set, const std::string &path) const {
  auto fileOf = [&](std::string_view kind, int index) { return fmt::format("{}/{}_{}.pb", path, kind, index); };
  std::error_code error;
  const std::set<std::string> initializers = initializersOf(graph());
  for (int i = 0; i < graph().input_size(); ++i) {
    const std::string file = fileOf("input", i), &name = graph().input(i).name();
    if (fs::exists(file, error))
      set.inputs[name] = file;
    else if (!initializers.contains(name))
      throw missing(file, "input", name);
  }
  for (int i = 0; i < graph().output_size(); ++i) {
    const std::string file = fileOf("output", i), &name = graph().output(i).name();
    if (!fs::exists(file, error))
      throw missing(file, "output", name);
    set.outputs[name] = file;
  }
}

static void addOps(const pb::GraphProto &graph, std::set<std::string> &ops) {
  for (const pb::NodeProto &node : graph.node()) {
    ops.insert(node.op_type());
    for (const pb::AttributeProto &attribute : node.attribute()) {
      addOps(attribute.g(), ops);
      for (const pb::GraphProto &inner : attribute.graphs())
        addOps(inner, ops);
    }
  }
}

std::set<std::string> CaseData::ops() const {
  std::set<std::string> found;
  addOps(graph(), found);
  return found;
}

std::vector<std::string> CaseData::constants() const {
  std::vector<std::string> names;
  for (int i = 1; i < graph().input_size(); ++i)
    if (const pb::ValueInfoProto &input = graph().input(i);
        input.type().has_tensor_type() && dataSets.front().inputs.contains(input.name()))
      names.push_back(input.name());
  return names;
}

static void makeConstants(pb::GraphProto &graph, const std::vector<std::string> &names, const CaseData::Set &set) {
  auto isConstant = [&](const pb::ValueInfoProto &value) {
    return std::find(names.begin(), names.end(), value.name()) != names.end();
  };
  auto &inputs = *graph.mutable_input();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(), isConstant), inputs.end());
  for (const std::string &name : names) {
    const auto &initializers = graph.initializer();
    if (std::any_of(initializers.begin(), initializers.end(), [&](const auto &each) { return each.name() == name; }))
      continue;
    const std::string &file = set.inputs.at(name);
    const std::vector<uint8_t> bytes = readFile(file);
    pb::TensorProto &tensor = *graph.add_initializer();
    if (bytes.size() > INT_MAX || !tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      throw fileError("{}: not a TensorProto of ONNX", file);
    tensor.set_name(name);
  }
}

// A list of sizes or axes keeps its length, which decides ranks.
static bool isList(const pb::TypeProto::Tensor &tensor) {
  return tensor.shape().dim_size() < 2 &&
         (tensor.elem_type() == pb::TensorProto::INT64 || tensor.elem_type() == pb::TensorProto::INT32);
}

// What GatherND takes places of: their last size decides the rank of what it gives.
static std::set<std::string> placesOf(const pb::GraphProto &graph) {
  std::set<std::string> names;
  for (const pb::NodeProto &node : graph.node())
    if (node.op_type() == "GatherND" && node.input_size() > 1)
      names.insert(node.input(1));
  return names;
}

std::string CaseData::Symbol::name() const { return fmt::format("{}_{}", input, dimension); }

// Of an input of a mode other than static.
static std::vector<CaseData::Symbol> symbolsOf(const pb::ValueInfoProto &input, Mode mode,
                                               const std::set<std::string> &places) {
  std::vector<CaseData::Symbol> symbols;
  const bool areAll = mode == Mode::Symbolic;
  if (!input.type().has_tensor_type() || (!areAll && isList(input.type().tensor_type())))
    return symbols;
  const pb::TensorShapeProto &shape = input.type().tensor_type().shape();
  const int kept = !areAll && places.contains(input.name()) ? 1 : 0;
  for (int i = 0; i < shape.dim_size() - kept; ++i)
    if (areAll || shape.dim(i).dim_value() != 1)
      symbols.push_back({input.name(), static_cast<size_t>(i)});
  return symbols;
}

std::vector<CaseData::Symbol> CaseData::symbols(Mode mode) const {
  std::vector<Symbol> symbols;
  if (mode == Mode::Static)
    return symbols;
  const std::set<std::string> places = placesOf(graph());
  const std::vector<std::string> fixed = mode == Mode::Constant ? constants() : std::vector<std::string>();
  for (const pb::ValueInfoProto &input : graph().input()) {
    if (std::find(fixed.begin(), fixed.end(), input.name()) != fixed.end())
      continue;
    for (Symbol &symbol : symbolsOf(input, mode, places))
      symbols.push_back(std::move(symbol));
  }
  return symbols;
}

std::string CaseData::modelFor(Mode mode) const {
  pb::ModelProto changed = model;
  pb::GraphProto &graph = *changed.mutable_graph();
  if (mode == Mode::Constant)
    makeConstants(graph, constants(), dataSets.front());
  if (mode != Mode::Static) {
    const std::set<std::string> places = placesOf(graph);
    graph.clear_value_info();
    for (pb::ValueInfoProto &output : *graph.mutable_output())
      if (output.type().has_tensor_type())
        output.mutable_type()->mutable_tensor_type()->clear_shape();
    for (pb::ValueInfoProto &input : *graph.mutable_input())
      for (const Symbol &symbol : symbolsOf(input, mode, places))
        input.mutable_type()
            ->mutable_tensor_type()
            ->mutable_shape()
            ->mutable_dim(static_cast<int>(symbol.dimension))
            ->set_dim_param(symbol.name());
  }
  return changed.SerializeAsString();
}

vx_value_kind CaseData::kindOf(const pb::ValueInfoProto &value) {
  switch (value.type().value_case()) {
  case pb::TypeProto::kTensorType:
    return VX_TENSOR;
  case pb::TypeProto::kSequenceType:
    return VX_SEQUENCE;
  case pb::TypeProto::kOptionalType:
    return value.type().optional_type().elem_type().has_sequence_type() ? VX_OPTIONAL_SEQUENCE : VX_OPTIONAL;
  default:
    throw fileError("value '{}' has no type of those that files hold: a tensor, a sequence or an optional",
                    value.name());
  }
}

} // namespace vx::tools
