#include "CompilerCall.h"

#include "ReportWriter.h"
#include "vx/Autodiff/Training.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#ifdef VX_TARGET_CUDA
#include "vx/Target/CUDA.h"
#endif
#include "vx/Target/LLVMCPU/CPUTarget.h"
#ifdef VX_TARGET_ROCM
#include "vx/Target/ROCM.h"
#endif
#ifdef VX_TARGET_VULKAN
#include "vx/Target/Vulkan.h"
#endif
#include "vx/base/command_files.h"
#include "vx/base/names.h"
#include "vx/base/regular_file.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>
#include <unistd.h>

using namespace mlir;

namespace vx {

const TargetRegistry &getTargets() {
  static const TargetRegistry *registry = [] {
    auto *targets = new TargetRegistry; // lives as long as the process
    targets->add(createCPUTarget(), registerCPUTargetDialects);
#ifdef VX_TARGET_CUDA
    targets->add(createCUDABackend(), registerCUDATargetDialects);
#endif
#ifdef VX_TARGET_ROCM
    targets->add(createROCMBackend(), registerROCMTargetDialects);
#endif
#ifdef VX_TARGET_VULKAN
    targets->add(createVulkanBackend(), registerVulkanTargetDialects);
#endif
    return targets;
  }();
  return *registry;
}

/// Names between commas, none of them empty or given twice. No text is an empty list.
vxc_result CompilerCall::splitList(StringRef what, const char *list, std::vector<std::string> &parts) const {
  StringRef text = list ? list : "";
  if (text.empty())
    return VXC_DONE;
  SmallVector<StringRef> pieces;
  text.split(pieces, ',');
  for (StringRef piece : pieces) {
    std::string part = piece.trim().str();
    if (part.empty())
      return fail(VXC_USAGE, (what + ": expected names between commas, got '" + text + "'").str());
    if (llvm::is_contained(parts, part))
      return fail(VXC_USAGE, (what + ": expected each name once, got '" + part + "' twice in '" + text + "'").str());
    parts.push_back(part);
  }
  return VXC_DONE;
}

vxc_result CompilerCall::checkLists() {
  auto check = [&](const char *name, const char *const *list, size_t count) {
    if (count > 0 && !list)
      return fail(VXC_USAGE,
                  "option '" + std::string(name) + "' is a null pointer, num_" + name + " is " + std::to_string(count));
    for (size_t i = 0; i < count; ++i)
      if (!list[i])
        return fail(VXC_USAGE, "option '" + std::string(name) + "': item " + std::to_string(i) + " is a null pointer");
    return VXC_DONE;
  };
  vxc_result result = check("variants", options.variants, options.num_variants);
  return result == VXC_DONE ? check("dims", options.dims, options.num_dims) : result;
}

vxc_result CompilerCall::parseDim(StringRef text) {
  auto bad = [&] {
    return fail(VXC_USAGE,
                "--dim: expected NAME=N, NAME=N,N,..., NAME=N..N or NAME=N..N:MULTIPLE, got '" + text.str() + "'");
  };
  // A name may hold any character; the last '=' ends it.
  auto [name, value] = text.rsplit('=');
  DimOption dim;
  dim.name = name.str();
  if (name.empty() || value.empty())
    return bad();
  if (value.contains("..")) {
    auto [low, rest] = value.split("..");
    auto [high, factor] = rest.split(':');
    int64_t least, most, multiple = 1;
    if (low.getAsInteger(10, least) || high.getAsInteger(10, most) || least < 0 || most < least ||
        (rest.contains(':') && (factor.getAsInteger(10, multiple) || multiple < 1)))
      return bad();
    dim.range = SymbolRange{least, most, multiple};
  } else {
    SmallVector<StringRef> pieces;
    value.split(pieces, ',');
    for (StringRef piece : pieces) {
      int64_t number;
      if (piece.trim().getAsInteger(10, number) || number < 0)
        return bad();
      if (llvm::is_contained(dim.values, number))
        return fail(VXC_USAGE, "--dim: expected each size of '" + dim.name + "' once, got " + std::to_string(number) +
                                   " again in '" + text.str() + "'");
      dim.values.push_back(number);
    }
  }
  for (const DimOption &other : compilation.dims)
    if (other.name == dim.name)
      return fail(VXC_USAGE, "--dim: '" + dim.name + "' is given twice, the second time as '" + text.str() + "'");
  compilation.dims.push_back(std::move(dim));
  return VXC_DONE;
}

vxc_result CompilerCall::parseOptions() {
  if (vxc_result result = splitList("--target", options.targets, compilation.targets); result != VXC_DONE)
    return result;
  if (compilation.targets.empty())
    return fail(VXC_USAGE, "--target: expected one or more of " + std::string(vxc_targets()) + ", got none");
  for (size_t i = 0; i < compilation.targets.size(); ++i) {
    const std::string &target = compilation.targets[i];
    if (getTargets().lookup(target))
      continue;
    if (std::string reason = leftOutTarget(target, getTargets().names()); !reason.empty())
      return fail(VXC_USAGE, "--target: this compiler " + reason);
    return fail(VXC_USAGE,
                "--target: expected one or more of " + std::string(vxc_targets()) + ", got '" + target + "'");
  }
  for (size_t i = 0; i < options.num_variants; ++i) {
    auto [target, names] = StringRef(options.variants[i]).split('=');
    if (!llvm::is_contained(compilation.targets, target))
      return fail(VXC_USAGE, "variants: expected 'TARGET=NAME,...' of a target that is asked for, got '" +
                                 std::string(options.variants[i]) + "'");
    std::vector<std::string> &list = compilation.variants[target.str()];
    if (vxc_result result = splitList(("--" + target).str(), names.str().c_str(), list); result != VXC_DONE)
      return result;
  }
  for (size_t i = 0; i < options.num_dims; ++i)
    if (vxc_result result = parseDim(options.dims[i]); result != VXC_DONE)
      return result;
  if (options.stop_after) {
    std::optional<Phase> phase = parsePhase(options.stop_after);
    if (!phase || *phase == Phase::Module)
      return fail(
          VXC_USAGE,
          std::string(
              "--stop-after: expected import, graph, grad, optimised, fused, kernels, schedule or target, got '") +
              options.stop_after + "'");
    compilation.stopAfter = *phase;
  }
  if (options.precision) {
    if (!isPrecision(options.precision))
      return fail(VXC_USAGE,
                  std::string("--precision: expected f32, tf32, f16 or bf16, got '") + options.precision + "'");
    compilation.precision = options.precision;
  }
  if (options.gradient) {
    auto [of, names] = StringRef(options.gradient).split(':'); // names of initializers may have colons
    compilation.gradientOf = of.str();
    for (StringRef name : llvm::split(names, ','))
      compilation.gradientWrt.push_back(name.str());
    if (of.empty() || names.empty() || names.ends_with(",") || llvm::is_contained(compilation.gradientWrt, ""))
      return fail(VXC_USAGE, std::string("--grad: expected OUTPUT:NAME,..., got '") + options.gradient + "'");
  }
  if (vxc_result result = parseTraining(); result != VXC_DONE)
    return result;
  if (vxc_result result = parseExport(); result != VXC_DONE)
    return result;
  compilation.cacheFolder = options.cache_folder ? options.cache_folder : "";
  compilation.threads = options.threads;
  compilation.strictMath = options.strict_math;
  if (options.weights > VXC_WEIGHTS_REFERENCE)
    return fail(VXC_USAGE, "option 'weights': expected 0 (inside), 1 (external) or 2 (reference), got " +
                               std::to_string(options.weights));
  compilation.externalWeights = options.weights == VXC_WEIGHTS_EXTERNAL;
  if (options.verify)
    compilation.verify = [this](const std::string &path) -> std::string {
      const char *reason = options.verify(options.user_data, path.c_str());
      return reason ? reason : "";
    };
  if (options.is_cancelled)
    compilation.isCancelled = [this] { return options.is_cancelled(options.user_data) != 0; };
  compilation.progress = [this](const std::string &message) { say(VXC_PROGRESS, printableLine(message)); };
  return VXC_DONE;
}

vxc_result CompilerCall::parseTraining() {
  bool isAsked = options.train || options.freeze || options.loss || options.optimizer || options.clip_norm != 0 ||
                 options.clip_value != 0 || options.batch_norm || options.dropout || options.keep_gradients ||
                 options.classes != 0 || options.memory != 0 || options.init;
  if (!isAsked)
    return VXC_DONE;
  std::string missing;
  for (auto [name, value] :
       {std::pair("--train", options.train), {"--loss", options.loss}, {"--optimizer", options.optimizer}})
    if (!value)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  if (!missing.empty())
    return fail(VXC_USAGE,
                "expected --train, --loss and --optimizer for a module that trains, got none for " + missing);
  TrainingOptions training;
  if (vxc_result result = splitList("--train", options.train, training.train); result != VXC_DONE)
    return result;
  if (training.train.empty())
    return fail(VXC_USAGE, "--train: expected auto, or names of initializers between commas, got ''");
  if (vxc_result result = splitList("--freeze", options.freeze, training.freeze); result != VXC_DONE)
    return result;
  std::string error;
  if (!LossSpec::parse(options.loss, error) || !OptimizerSpec::parse(options.optimizer, error))
    return fail(VXC_USAGE, error);
  training.loss = options.loss;
  training.optimizer = options.optimizer;
  for (auto [name, value] : {std::pair("--clip-norm", options.clip_norm), {"--clip-value", options.clip_value}})
    if (!(value >= 0) || !std::isfinite(value))
      return fail(VXC_USAGE, std::string(name) + ": expected a number above 0, got " + std::to_string(value));
  training.clipNorm = options.clip_norm;
  training.clipValue = options.clip_value;
  training.keepGradients = options.keep_gradients;
  training.scalesLoss = compilation.precision == "f16";
  if (options.classes < 0)
    return fail(VXC_USAGE, "--classes: expected 1 class or more, got " + std::to_string(options.classes));
  training.classes = options.classes;
  for (auto [name, value] : {std::pair("--batch-norm", options.batch_norm), {"--dropout", options.dropout}})
    if (value && StringRef(value) != "train" && StringRef(value) != "frozen")
      return fail(VXC_USAGE, std::string(name) + ": expected train or frozen, got '" + value + "'");
  if (options.init && StringRef(options.init) != "file" && StringRef(options.init) != "random")
    return fail(VXC_USAGE, std::string("--init: expected file or random, got '") + options.init + "'");
  training.startsRandom = options.init && StringRef(options.init) == "random";
  for (auto [name, value] : {std::pair("--memory", options.memory), {"planned_batch", options.planned_batch}})
    if (value < 0)
      return fail(VXC_USAGE, std::string(name) + ": expected a number of 0 or more, got " + std::to_string(value));
  compilation.memory = options.memory;
  compilation.plannedBatch = options.planned_batch;
  training.freezesDropout = options.dropout && StringRef(options.dropout) == "frozen";
  training.freezesBatchNorm = options.batch_norm && StringRef(options.batch_norm) == "frozen";
  compilation.training = std::move(training);
  return VXC_DONE;
}

vxc_result CompilerCall::parseExport() {
  StringRef form = options.onnx_export ? options.onnx_export : "";
  if (!options.onnx_export)
    return VXC_DONE;
  if (form != "inside" && form != "external" && form != "none")
    return fail(VXC_USAGE, "--export: expected inside, external or none, got '" + form.str() + "'");
  if (!compilation.training)
    return fail(VXC_USAGE,
                "--export: expected --train, --loss and --optimizer with it, got none: it writes the trained model");
  hasExport = form != "none";
  exporting.largestModel = form == "inside" ? INT32_MAX : 0;
  return VXC_DONE;
}

ImportOptions CompilerCall::importOptions() const {
  ImportOptions result;
  result.strict = options.strict;
  result.keepSource = compilation.training && hasExport && compilation.stopAfter == Phase::Module;
  result.trains = compilation.training.has_value();
  if (result.trains && options.batch_norm)
    result.batchNorm =
        compilation.training->freezesBatchNorm ? ImportOptions::BatchNorm::Frozen : ImportOptions::BatchNorm::Train;
  return result;
}

OwningOpRef<ModuleOp> CompilerCall::loadFolder(MLIRContext &context, StringRef path, vxc_result &result) {
  auto refuse = [&](vxc_result code, const std::string &message) {
    result = fail(code, message);
    return OwningOpRef<ModuleOp>();
  };
  if (compilation.training)
    return refuse(VXC_USAGE, "--train: expected a model in one file, got the folder '" + path.str() + "'");
  std::string error;
  std::optional<EmbeddingFolder> folder = readEmbeddingFolder(path, error);
  if (!folder)
    return refuse(VXC_UNSUPPORTED, error);
  modelFiles.paths = folder->files;
  modelFiles.paths.push_back(folder->modelPath);
  OwningOpRef<ModuleOp> module;
  if (folder->isOnnx) {
    ImportReport report;
    report.file = folder->modelPath;
    module = checkImport(importOnnx(context, folder->modelPath, importOptions(), report), report);
    externalFiles = report.externalFiles;
    if (!module)
      return module;
  } else {
    module = importEncoder(context, llvm::sys::path::parent_path(folder->modelPath), modelFiles, error);
    if (!module)
      return refuse(VXC_UNSUPPORTED, error);
  }
  if (!addEmbeddingFunctions(*module, *folder, error))
    return refuse(VXC_UNSUPPORTED, error);
  for (const std::string &note : folder->notes)
    say(VXC_NOTE, printableLine(note));
  compilation.assumptions = folder->notes;
  compilation.assets = {{"embedding.json", "application/vnd.vx.embedding+json", std::move(folder->settings)},
                        {folder->tokenizerName, folder->tokenizerKind, std::move(folder->tokenizerBytes)}};
  moduleName = folder->name;
  return module;
}

OwningOpRef<ModuleOp> CompilerCall::loadDecoder(MLIRContext &context, StringRef path, vxc_result &result) {
  if (compilation.training) {
    result = fail(VXC_USAGE, "--train: expected an ONNX model, got '" + path.str() + "'");
    return {};
  }
  LanguageModel model;
  std::string error;
  OwningOpRef<ModuleOp> module =
      isGgufFile(path) ? importGguf(context, path, model, error) : importDecoderFolder(context, path, model, error);
  if (!module) {
    result = fail(VXC_UNSUPPORTED, error);
    return module;
  }
  for (LanguageModel::Asset &asset : model.assets)
    compilation.assets.push_back({std::move(asset.name), std::move(asset.kind), std::move(asset.bytes)});
  modelFiles = std::move(model.files);
  if (!isGgufFile(path))
    moduleName = llvm::sys::path::filename(path.rtrim('/')).str();
  return module;
}

OwningOpRef<ModuleOp> CompilerCall::load(MLIRContext &context, StringRef path, vxc_result &result) {
  result = VXC_UNSUPPORTED;
  const bool isFolder = llvm::sys::fs::is_directory(path);
  if (isFolder ? isDecoderFolder(path) : isGgufFile(path))
    return loadDecoder(context, path, result);
  if (isFolder)
    return loadFolder(context, path, result);
  FileError reason;
  int file = openRegularFile(path.str(), reason);
  if (file < 0) {
    fail(result, path.str() + ": cannot read the model: " +
                     (reason.number ? std::generic_category().message(reason.number) : "it " + reason.text));
    return {};
  }
  ::close(file);
  if (path.ends_with(".mlir"))
    return checkText(parseSourceFile<ModuleOp>(path, &context), path, result);
  ImportReport report;
  report.file = path.str();
  OwningOpRef<ModuleOp> module = importOnnx(context, path, importOptions(), report);
  externalFiles = report.externalFiles;
  source = report.source;
  return checkImport(std::move(module), report);
}

OwningOpRef<ModuleOp> CompilerCall::loadBytes(MLIRContext &context, StringRef model, StringRef name,
                                              vxc_result &result) {
  result = VXC_UNSUPPORTED;
  if (name.ends_with(".mlir"))
    return checkText(parseSourceString<ModuleOp>(model, &context, name), name, result);
  ImportReport report;
  report.file = name.str();
  OwningOpRef<ModuleOp> module = importOnnx(context, llvm::MemoryBufferRef(model, name),
                                            options.data_folder ? options.data_folder : "", importOptions(), report);
  source = report.source;
  return checkImport(std::move(module), report);
}

OwningOpRef<ModuleOp> CompilerCall::checkText(OwningOpRef<ModuleOp> module, StringRef name, vxc_result &result) const {
  if (!module || !module->getOps<func::FuncOp>().empty())
    return module;
  fail(result, name.str() + ": expected a model with a function, at least 1 'func.func', got none");
  return {};
}

/// One line for each fault.
OwningOpRef<ModuleOp> CompilerCall::checkImport(OwningOpRef<ModuleOp> module, const ImportReport &report) {
  if (!module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    report.print(os);
    say(VXC_ERROR, StringRef(text).rtrim().str());
    refused.issues = report.issues;
    return module;
  }
  for (const ImportNote &note : report.notes)
    say(note.kind == ImportNote::Kind::Warning ? VXC_WARNING : VXC_NOTE,
        printableLine(report.file) + ": " + note.str());
  return module;
}

void CompilerCall::printRefusals(StringRef modelName) {
  namespace json = llvm::json;
  if (!options.check_only || !options.report || StringRef(options.report) != "json")
    return;
  json::Array reasons;
  for (const ImportIssueGroup &group : refused.groups()) {
    json::Object reason{{"kind", group.first.kind == ImportIssue::Kind::Unsupported ? "unsupported" : "invalid"},
                        {"reason", json::fixUTF8(group.first.reason)}};
    if (!group.first.advice.empty())
      reason["advice"] = json::fixUTF8(group.first.advice);
    if (!group.first.opType.empty()) {
      reason["op"] = json::fixUTF8(group.first.opType);
      reason["domain"] = json::fixUTF8(group.first.domain);
      if (group.first.version > 0)
        reason["version"] = group.first.version;
    }
    reason["count"] = static_cast<int64_t>(group.places.size());
    json::Array places;
    for (const std::string &place : group.places)
      if (!place.empty() && places.size() < 8)
        places.push_back(json::fixUTF8(place));
    if (!places.empty())
      reason[group.first.node.empty() ? "tensors" : "nodes"] = std::move(places);
    reasons.push_back(std::move(reason));
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}", json::Value(json::Object{{"version", 1},
                                                        {"model", json::fixUTF8(modelName)},
                                                        {"targets", json::Array(compilation.targets)},
                                                        {"supported", refused.issues.empty()},
                                                        {"reasons", std::move(reasons)}}))
     << "\n";
  print(text);
}

/// No output may be a file of the model. With `stop_after` the caller writes the text.
vxc_result CompilerCall::checkFiles(const char *modelPath, StringRef outputPath,
                                    ArrayRef<std::string> externalFiles) const {
  if (options.check_only || outputPath.empty())
    return VXC_DONE;
  CommandFiles files;
  if (*modelPath) // a graph that was built has no file
    files.addInput("the model", modelPath);
  for (const std::string &file : externalFiles)
    files.addInput("external data of the model,", file);
  for (const std::string &file : modelFiles.paths)
    files.addInput("a file of the model,", file);
  if (compilation.stopAfter == Phase::Module) {
    files.addOutput("the module", outputPath.str());
    if (compilation.externalWeights)
      files.addOutput("the weights' file", getWeightsPath(outputPath));
  } else if (outputPath != "-") {
    files.addOutput("the output", outputPath.str(), CommandFiles::Kind::RegularFileOrStream);
  }
  std::string problem = files.problem();
  return problem.empty() ? VXC_DONE : fail(VXC_USAGE, problem);
}

/// The report goes out before the module has its name: a caller that cannot take it gets no module.
bool CompilerCall::confirm(const CompilationReport &report, std::string &error) const {
  if (options.report)
    print(StringRef(options.report) == "json" ? getJsonReport(report) : getTextReport(report));
  const char *reason = options.confirm ? options.confirm(options.user_data) : nullptr;
  if (reason)
    error = reason;
  return !reason;
}

vxc_result CompilerCall::run(const char *modelPath, const char *outputPath) {
  if (!modelPath)
    return fail(VXC_USAGE, "argument 'model_path' is a null pointer");
  if (vxc_result result = checkLists(); result != VXC_DONE)
    return result;
  if (vxc_result result = parseOptions(); result != VXC_DONE)
    return result;
  if (!outputPath && compilation.stopAfter == Phase::Module && !options.check_only)
    return fail(
        VXC_USAGE,
        "argument 'output_path': expected a path, since neither stop_after nor check_only is set, got a null pointer");
  StringRef output = outputPath ? outputPath : "";
  compilation.toBytecode = compilation.stopAfter < Phase::Module && output.ends_with(".mlirbc");
  if (compilation.toBytecode && (compilation.stopAfter == Phase::Target || compilation.targets.size() > 1))
    return fail(VXC_USAGE, "bytecode holds one program: expected --stop-after=schedule or before and one target, got " +
                               std::string(options.stop_after) + " and " + options.targets);
  if (vxc_result result = checkFiles(modelPath, output, {}); result != VXC_DONE)
    return result;
  auto loadFile = [&](MLIRContext &context, vxc_result &result) {
    OwningOpRef<ModuleOp> module = load(context, modelPath, result);
    if (module && ((result = checkFiles(modelPath, output, externalFiles)) != VXC_DONE ||
                   (result = referToFiles(modelPath, output)) != VXC_DONE))
      module = {};
    return module;
  };
  return compile(modelPath, loadFile,
                 [&](Compilation &job, ModuleOp module, std::string &text) { return job.run(module, output, text); });
}

/// A module in memory has no folder.
vxc_result CompilerCall::checkWeightsInside() const {
  return options.weights == VXC_WEIGHTS_INSIDE
             ? VXC_DONE
             : fail(VXC_USAGE, "option 'weights': expected 0 (inside) for a module in memory, got " +
                                   std::to_string(options.weights));
}

/// Before the module is compiled, the model's files are compared with the folder that the module will look in.
vxc_result CompilerCall::referToFiles(const char *modelPath, StringRef output) {
  if (options.weights != VXC_WEIGHTS_REFERENCE || options.check_only || compilation.stopAfter != Phase::Module)
    return VXC_DONE;
  if (modelFiles.weights.empty())
    return fail(VXC_USAGE, std::string(modelPath) +
                               ": --weights=reference: expected a GGUF file, or a folder with safetensors files, got "
                               "a model of another form; use --weights=external");
  auto folderOf = [](StringRef path) {
    StringRef folder = llvm::sys::path::parent_path(path);
    return folder.empty() ? StringRef(".") : folder;
  };
  for (const WeightFile &file : modelFiles.weights) {
    // There may be a link to the file.
    bool isBeside = false;
    llvm::SmallString<128> beside(folderOf(output));
    llvm::sys::path::append(beside, llvm::sys::path::filename(file.path));
    (void)llvm::sys::fs::equivalent(file.path, beside, isBeside);
    if (!isBeside)
      return fail(VXC_USAGE, "--weights=reference: expected the module in the folder of '" + file.path + "', got '" +
                                 output.str() +
                                 "': a module finds its files by their names in its own folder; write it there, or "
                                 "make a link to the file beside it");
    compilation.referencedFiles.push_back(
        {file.path, {reinterpret_cast<const char *>(file.bytes.data()), file.bytes.size()}});
  }
  return VXC_DONE;
}

vxc_result CompilerCall::runBytes(StringRef model, const char *name, std::unique_ptr<ModuleBytes> &module) {
  if (!model.data())
    return fail(VXC_USAGE, "argument 'model' is a null pointer");
  if (vxc_result result = checkWeightsInside(); result != VXC_DONE)
    return result;
  if (vxc_result result = checkLists(); result != VXC_DONE)
    return result;
  if (vxc_result result = parseOptions(); result != VXC_DONE)
    return result;
  compilation.verify = nullptr;
  StringRef modelName = name ? name : "model";
  auto loadModel = [&](MLIRContext &context, vxc_result &result) {
    return loadBytes(context, model, modelName, result);
  };
  auto bytes = std::make_unique<ModuleBytes>();
  vxc_result result = compile(modelName, loadModel, [&](Compilation &job, ModuleOp op, std::string &text) {
    return job.run(op, *bytes, text);
  });
  if (result == VXC_DONE && bytes->size() > 0)
    module = std::move(bytes);
  return result;
}

void CompilerCall::sayDiagnostic(Diagnostic &diagnostic, StringRef modelName) {
  vxc_severity severity = diagnostic.getSeverity() == DiagnosticSeverity::Error     ? VXC_ERROR
                          : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? VXC_WARNING
                                                                                    : VXC_NOTE;
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
    return;
  // The file, then the source node, unless the message names it.
  bool isText = modelName.ends_with(".mlir"); // whose author knows ops and types as they stand there
  std::string message = isText ? diagnostic.str() : describeDiagnostic(diagnostic);
  std::string source = getSourceNodes(diagnostic.getLocation()).empty() ? "" : describeSource(diagnostic.getLocation());
  bool isKnown = source.empty() || StringRef(message).contains(source);
  std::string prefix = isa<UnknownLoc>(diagnostic.getLocation()) ? "" : modelName.str() + ": ";
  if (StringRef(source).starts_with(modelName)) { // a place in a text file, said once
    prefix = source + ": ";
    isKnown = true;
    for (std::string again : {" of " + source, source + ": "})
      if (size_t at = message.find(again); at != std::string::npos)
        message.erase(at, again.size());
  }
  const std::string line = printableLine(prefix + (isKnown ? "" : source + ": ") + message);
  if (!said.insert(line).second)
    return;
  if (!options.check_only || severity != VXC_ERROR)
    return say(severity, line);
  // What is said of every node like it.
  if (size_t at = message.find(" of " + source); !source.empty() && at != std::string::npos)
    message.erase(at, source.size() + 4);
  ImportIssue issue;
  issue.kind = ImportIssue::Kind::Unsupported;
  issue.node = source;
  issue.reason = message;
  refused.issues.push_back(std::move(issue));
  auto [place, isNew] = waitingPlaces.try_emplace(prefix + message, waiting.size());
  if (isNew)
    waiting.push_back({line, {}});
  waiting[place->second].nodes.push_back(source);
}

void CompilerCall::sayWaiting() {
  for (const Waiting &kind : waiting)
    say(VXC_ERROR, kind.message + describeMore(kind.nodes));
}

vxc_result CompilerCall::compile(StringRef modelName, LoadFunction loadModel, CompileFunction run) {
  DialectRegistry registry;
  for (const std::string &target : compilation.targets)
    getTargets().registerDialects(registry, target);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  return compileIn(context, modelName, loadModel, run);
}

vxc_result CompilerCall::compileIn(MLIRContext &context, StringRef modelName, LoadFunction loadModel,
                                   CompileFunction run) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    sayDiagnostic(diagnostic, modelName);
    return success();
  });
  auto sayAll = llvm::scope_exit([&] {
    sayWaiting();
    printRefusals(modelName);
  });
  vxc_result result = VXC_UNSUPPORTED;
  OwningOpRef<ModuleOp> module = loadModel(context, result);
  if (!module)
    return result;
  compilation.modelName = moduleName.empty() ? llvm::sys::path::stem(modelName).str() : moduleName;

  if (source)
    compilation.makeSkeleton = [this](ModuleOp op, std::string &error) {
      return makeExportSkeleton(*source, op, exporting, error);
    };
  const CompilationReport *report = nullptr;
  compilation.confirm = [&](std::string &error) { return confirm(*report, error); };
  Compilation job(getTargets(), compilation);
  report = &job.report();
  std::string text;
  Outcome outcome = options.check_only ? job.check(*module) : run(job, *module, text);
  if (outcome == Outcome::Done)
    print(text);
  return static_cast<vxc_result>(outcome);
}

vxc_result CompilerCall::runBuilt(const Built &built, const char *outputPath, std::unique_ptr<ModuleBytes> *bytes) {
  for (auto [name, isGiven] : {std::pair("train", options.train != nullptr),
                               {"freeze", options.freeze != nullptr},
                               {"loss", options.loss != nullptr},
                               {"optimizer", options.optimizer != nullptr},
                               {"gradient", options.gradient != nullptr},
                               {"clip_norm", options.clip_norm != 0},
                               {"clip_value", options.clip_value != 0},
                               {"batch_norm", options.batch_norm != nullptr},
                               {"dropout", options.dropout != nullptr},
                               {"keep_gradients", options.keep_gradients != 0},
                               {"classes", options.classes != 0},
                               {"init", options.init != nullptr},
                               {"memory", options.memory != 0},
                               {"planned_batch", options.planned_batch != 0},
                               {"strict", options.strict != 0},
                               {"data_folder", options.data_folder != nullptr}})
    if (isGiven)
      return fail(VXC_USAGE, "option '" + std::string(name) +
                                 "': expected none for a graph, got one: it is for models of files, and a graph states "
                                 "its training itself");
  if (vxc_result result = bytes ? checkWeightsInside() : VXC_DONE; result != VXC_DONE)
    return result;
  if (vxc_result result = checkLists(); result != VXC_DONE)
    return result;
  const char *form = std::exchange(options.onnx_export, nullptr);
  if (vxc_result result = parseOptions(); result != VXC_DONE)
    return result;
  compilation.training = built.training;
  compilation.memory = built.memory;
  compilation.plannedBatch = built.plannedBatch;
  if (compilation.training)
    compilation.training->scalesLoss = compilation.precision == "f16";
  options.onnx_export = built.training ? form : nullptr;
  if (vxc_result result = parseExport(); result != VXC_DONE)
    return result;
  if (built.makeSkeleton && hasExport)
    compilation.makeSkeleton = [this, &built](ModuleOp op, std::string &error) {
      return built.makeSkeleton(op, exporting, error);
    };
  if (!bytes) {
    if (!outputPath && compilation.stopAfter == Phase::Module && !options.check_only)
      return fail(VXC_USAGE, "argument 'output_path': expected a path, since neither stop_after nor check_only is set, "
                             "got a null pointer");
    if (vxc_result result = checkFiles("", outputPath ? outputPath : "", {}); result != VXC_DONE)
      return result;
  } else {
    compilation.verify = nullptr;
  }
  ModuleOp module = built.module;
  auto load = [&](MLIRContext &, vxc_result &) { return OwningOpRef<ModuleOp>(module.clone()); };
  auto owner = std::make_unique<ModuleBytes>();
  vxc_result result =
      compileIn(*module.getContext(), built.name, load, [&](Compilation &job, ModuleOp op, std::string &text) {
        return bytes ? job.run(op, *owner, text) : job.run(op, outputPath ? outputPath : "", text);
      });
  if (result == VXC_DONE && bytes && owner->size() > 0)
    *bytes = std::move(owner);
  return result;
}

} // namespace vx
