// Models that are stored as weights and settings, without a graph: folders as transformers writes them, and GGUF files.
#ifndef VX_FRONTEND_LANGUAGEMODELS_LANGUAGEMODEL_H
#define VX_FRONTEND_LANGUAGEMODELS_LANGUAGEMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vx {

/// The path of a folder's safetensors weights: model.safetensors, or the index of several files. Empty if it has none.
std::string findWeights(llvm::StringRef folder);

/// A file whose mapped bytes the constants of a model are views of. The module's MLIRContext keeps the mapping.
struct WeightFile {
  std::string path;
  std::span<const uint8_t> bytes;
};

/// The files that a model was read from.
struct ModelFiles {
  std::vector<std::string> paths; // of all
  std::vector<WeightFile> weights;
};

/// Builds the encoder of `folder`: config.json with the weights beside it. The weights are views of the mapped files.
/// `files` gets all files that were read. Returns the module of the phase import, or null with a reason in `error` that
/// names the file, and the key or the tensor.
///
/// Each key of config.json is read, or has no effect, or is an error. So is each tensor.
mlir::OwningOpRef<mlir::ModuleOp> importEncoder(mlir::MLIRContext &context, llvm::StringRef folder, ModelFiles &files,
                                                std::string &error);

/// A decoder with its tokenizer.
struct LanguageModel {
  std::string family;             // "llama"
  int64_t context = 0, words = 0; // the most tokens of a sequence; the rows of the embedding
  ModelFiles files;
  struct Asset {
    std::string name, kind, bytes;
  };
  /// Of the module: the tokenizer's file, and language_model.json, which names it.
  std::vector<Asset> assets;
};

/// True for a folder with the weights of a decoder, as `importDecoderFolder` takes it, that is no model of embeddings.
bool isDecoderFolder(llvm::StringRef folder);
/// True for a name of a GGUF file.
bool isGgufFile(llvm::StringRef path);

/// Builds the functions prefill, extend and decode of a model of config.json and safetensors, with tokenizer.json. Null
/// for a failure, with a reason in `error` that names the file, and the key or the tensor.
mlir::OwningOpRef<mlir::ModuleOp> importDecoderFolder(mlir::MLIRContext &context, llvm::StringRef folder,
                                                      LanguageModel &model, std::string &error);
/// The same of a GGUF file, or of the first file of a split model. Of an encoder's file (nomic-bert) it builds the
/// function main and those of embeddings, and the assets are embedding.json and the tokenizer's vocabulary.
mlir::OwningOpRef<mlir::ModuleOp> importGguf(mlir::MLIRContext &context, llvm::StringRef path, LanguageModel &model,
                                             std::string &error);

} // namespace vx

#endif
