// Feeds bytes to the readers of models that are weights and settings: a module, or an error that names one of the
// folder's files.
//
// The first byte says whether the rest is an encoder's folder (0 of its remainder by 3), a decoder's (1) or a GGUF file
// (2). The files of a folder have a byte 0xff between them: config.json, the index of the weights, and the headers of
// two files of weights. A file of weights gets the size of its header, and as many zeros as the largest number of the
// header says, up to a megabyte.
#include "kind_and_text.h"
#include "vx/Frontend/LanguageModels/LanguageModel.h"

#include "mlir/IR/MLIRContext.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

void check(bool condition) {
  if (!condition)
    std::abort();
}

// A folder that is there as long as the process.
class Folder {
public:
  Folder() {
    std::string made = (std::filesystem::temp_directory_path() / "language_model_fuzzer.XXXXXX").string();
    check(mkdtemp(made.data()) != nullptr);
    path = made;
  }
  ~Folder() { std::filesystem::remove_all(path); }

  // Without text it is not there.
  void write(const char *name, const std::string &text) const {
    if (text.empty())
      std::filesystem::remove(path / name);
    else
      check(bool(std::ofstream(path / name, std::ios::binary) << text));
  }

  std::filesystem::path path;
};

std::string fileOfHeader(const std::string &header) {
  if (header.empty())
    return "";
  constexpr uint64_t most = 1 << 20;
  uint64_t largest = 0, number = 0;
  for (char c : header) {
    number = c >= '0' && c <= '9' ? std::min(number * 10 + static_cast<uint64_t>(c - '0'), most) : 0;
    largest = std::max(largest, number);
  }
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    file[i] = static_cast<char>(static_cast<uint64_t>(header.size()) >> 8 * i & 0xff);
  return file + header + std::string(largest, '\0');
}

void writeFolder(const Folder &folder, const std::string &text) {
  std::vector<std::string> parts = vx::fuzz::cutText(text, 4);
  parts.resize(4);
  folder.write("config.json", parts[0]);
  folder.write("model.safetensors.index.json", parts[1]);
  folder.write(parts[1].empty() ? "model.safetensors" : "a.safetensors", fileOfHeader(parts[2]));
  if (!parts[1].empty())
    folder.write("model.safetensors", "");
  folder.write("b.safetensors", fileOfHeader(parts[3]));
  folder.write("tokenizer.json", "a tokenizer that is not read");
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  return vx::fuzz::mutateKindAndText(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  static const Folder folder;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED); // it owns the weights that a module names
  const vx::fuzz::KindAndText input(data, size);
  const int kind = input.kind % 3;
  vx::ModelFiles files;
  vx::LanguageModel model;
  std::string error;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (kind == 2) {
    folder.write("model.gguf", input.text.empty() ? "GGUF" : input.text);
    module = vx::importGguf(context, (folder.path / "model.gguf").string(), model, error);
  } else {
    writeFolder(folder, input.text);
    const std::string path = folder.path.string();
    module = kind == 0 ? vx::importEncoder(context, path, files, error)
                       : vx::importDecoderFolder(context, path, model, error);
  }
  check(bool(module) == error.empty());
  check(module || llvm::StringRef(error).starts_with(folder.path.string()));
  check(!module || kind == 0 || (model.assets.size() == 2 && model.context >= 1 && model.words >= 1));
  return 0;
}
