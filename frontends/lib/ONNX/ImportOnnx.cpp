#include "vx/Frontend/ONNX/ImportOnnx.h"

#include "Advice.h"
#include "ChooseBranches.h"
#include "ExternalFiles.h"
#include "google/protobuf/io/coded_stream.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace vx {

std::string ImportIssue::str() const {
  const std::string end = advice.empty() ? "" : "; " + advice;
  if (node.empty())
    return escapeControlCharacters(reason + end);
  std::string text = "node '" + node + "' (" + opType + ", " + domain;
  if (version > 0)
    text += " " + std::to_string(version);
  return escapeControlCharacters(text + ")" + (kind == Kind::Unsupported ? " is not supported: " : ": ") + reason +
                                 end);
}

std::string ImportNote::str() const { return escapeControlCharacters(text) + describeMore(places); }

std::string describeMore(ArrayRef<std::string> places) {
  constexpr size_t shown = 4;
  if (places.size() < 2)
    return "";
  std::string text = " (and " + std::to_string(places.size() - 1) + " more: ";
  for (size_t i = 1; i < std::min(places.size(), shown + 1); ++i)
    text += (i > 1 ? ", '" : "'") + places[i] + "'";
  return escapeControlCharacters(text + (places.size() > shown + 1 ? ", ...)" : ")"));
}

/// Splits "tensor 'w': REASON" into the tensor and the reason; a text of another form is the reason only.
static std::pair<StringRef, StringRef> splitTensor(StringRef reason) {
  StringRef name = reason;
  if (!name.consume_front("tensor '"))
    return {"", reason};
  auto [tensor, rest] = name.split("': ");
  return rest.empty() ? std::pair<StringRef, StringRef>("", reason) : std::pair(tensor, rest);
}

std::vector<ImportIssueGroup> ImportReport::groups() const {
  std::vector<ImportIssueGroup> result;
  llvm::StringMap<size_t> known;
  for (const ImportIssue &issue : issues) {
    // A node's reason may name a tensor of its own: two such are two reasons.
    auto [tensor, reason] =
        issue.node.empty() ? splitTensor(issue.reason) : std::pair(StringRef(), StringRef(issue.reason));
    std::string key = std::to_string(static_cast<int>(issue.kind)) + (issue.node.empty() ? "t" : "n") + issue.opType +
                      "\n" + issue.domain + "\n" + reason.str();
    auto [place, isNew] = known.try_emplace(key, result.size());
    if (isNew)
      result.push_back({issue, {}});
    result[place->second].places.push_back(issue.node.empty() ? tensor.str() : issue.node);
  }
  return result;
}

void ImportReport::print(llvm::raw_ostream &os) const {
  size_t unsupported = 0;
  for (const ImportIssueGroup &group : groups()) {
    ImportIssue first = group.first;
    first.reason += describeMore(group.places);
    os << escapeControlCharacters(file) << ": " << first.str() << "\n";
    if (group.first.kind == ImportIssue::Kind::Unsupported && !group.first.node.empty())
      unsupported += group.places.size();
  }
  if (unsupported > 0)
    os << escapeControlCharacters(file) << ": " << unsupported << (unsupported == 1 ? " node is" : " nodes are")
       << " not supported\n";
}

static void addInvalid(ImportReport &report, std::string reason, onnx::Advice advice = onnx::Advice::GiveModel) {
  ImportIssue issue;
  issue.kind = ImportIssue::Kind::Invalid;
  issue.reason = std::move(reason);
  issue.advice = onnx::describeAdvice(advice, "", "", 0);
  report.issues.push_back(std::move(issue));
}

/// For bytes that are no ONNX model: names the formats that users have beside it.
static void addForeign(ImportReport &report, StringRef bytes) {
  // The first 8 bytes are the size of the header, which is JSON.
  const bool isSafetensors = bytes.size() > 9 && bytes.substr(3, 5) == StringRef("\0\0\0\0\0", 5) && bytes[8] == '{';
  const struct {
    bool is;
    const char *kind, *advice;
  } formats[] = {
      {bytes.starts_with("VXMODULE"), "a vx module, which is compiled already",
       "run it with 'vx-run FILE', or show it with 'vx-info FILE'"},
      {bytes.starts_with("GGUF"), "a GGUF file", "vx-compile and vx-llm read it from a file whose name ends in .gguf"},
      {isSafetensors, "a safetensors file", "give its folder, which has the model's config.json too"},
      {bytes.starts_with("PK\x03\x04"), "a zip archive, as PyTorch writes its models",
       "export the model to ONNX (torch.onnx.export), and give the .onnx file"}};
  for (const auto &format : formats)
    if (format.is) {
      addInvalid(report, std::string("expects an ONNX model, got ") + format.kind);
      report.issues.back().advice = format.advice;
      return;
    }
  addInvalid(report, "expects an ONNX model, got " + std::to_string(bytes.size()) +
                         " bytes that are not one: the file is damaged, or is something else");
}

/// Whether the bytes are a model with more messages inside of one another than protobuf reads by itself.
static bool isDeeplyNested(StringRef bytes) {
  constexpr int deepest = 2000;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(deepest);
  onnx::ModelProto model;
  return model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, llvm::MemoryBufferRef bytes, StringRef folder,
                                 const ImportOptions &options, ImportReport &report) {
  if (report.file.empty())
    report.file = bytes.getBufferIdentifier().str();
  if (bytes.getBufferSize() == 0) {
    addInvalid(report, "expects an ONNX model, got an empty file");
    return {};
  }
  if (bytes.getBufferSize() > INT32_MAX) {
    addInvalid(report,
               "expects a model file of at most " + std::to_string(INT32_MAX) + " bytes, got " +
                   std::to_string(bytes.getBufferSize()),
               onnx::Advice::MoveWeights);
    return {};
  }
  auto model = std::make_shared<onnx::ModelProto>();
  if (!model->ParseFromArray(bytes.getBufferStart(), static_cast<int>(bytes.getBufferSize()))) {
    if (isDeeplyNested(bytes.getBuffer())) {
      addInvalid(report,
                 "expects at most " + std::to_string(onnx::maxNesting) +
                     " subgraphs, functions and gradients inside of one another, got more",
                 onnx::Advice::SplitModel);
      return {};
    }
    addForeign(report, bytes.getBuffer());
    return {};
  }
  report.externalFiles = onnx::collectExternalFiles(*model, folder.str());
  if (options.keepSource) {
    report.source = std::make_shared<OnnxSource>(&context, model, folder);
    report.source->bytes = bytes.getBuffer();
  }
  onnx::BranchPaths paths;
  auto import = [&](const onnx::BranchChoices &choices, ImportReport &issues, onnx::Decider &undecided) {
    onnx::ModelImporter importer(&context, *model, model, bytes.getBufferIdentifier(), folder, options, issues,
                                 report.source.get());
    importer.paths = &paths;
    importer.choices = choices;
    OwningOpRef<ModuleOp> module = importer.run();
    undecided = module ? onnx::Decider() : onnx::findUndecided(importer.failures);
    return module;
  };
  return onnx::importChoosingBranches(import, report);
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, StringRef path, const ImportOptions &options,
                                 ImportReport &report) {
  report.file = path.str();
  // Before it is opened: to open a pipe may take for ever.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) && !llvm::sys::fs::is_regular_file(status)) {
    addInvalid(report, llvm::sys::fs::is_directory(status) ? "expects a file, got a folder"
                                                           : "expects a file, got a pipe or a device");
    return {};
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    addInvalid(report, "cannot open the model: " + buffer.getError().message());
    return {};
  }
  StringRef folder = llvm::sys::path::parent_path(path);
  OwningOpRef<ModuleOp> module =
      importOnnx(context, (*buffer)->getMemBufferRef(), folder.empty() ? "." : folder, options, report);
  if (report.source)
    report.source->owner = std::move(*buffer);
  return module;
}

} // namespace vx
