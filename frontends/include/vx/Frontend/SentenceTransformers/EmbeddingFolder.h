// A folder with a model of sentence embeddings, as sentence-transformers writes it: an ONNX model, its tokenizer, and
// what is done with its vectors.
#ifndef VX_FRONTEND_SENTENCETRANSFORMERS_EMBEDDINGFOLDER_H
#define VX_FRONTEND_SENTENCETRANSFORMERS_EMBEDDINGFOLDER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vx {

/// result = activation(weight * vector + bias)
struct DenseLayer {
  std::string path;                    // of its weights' file, for messages
  std::string inFeatures, outFeatures; // where its numbers come from, for messages
  int64_t inputs = 0, outputs = 0;
  std::vector<float> weight; // [outputs, inputs]
  std::vector<float> bias;   // empty: none
  enum class Activation { Identity, Tanh, Relu, Sigmoid, Gelu } activation = Activation::Identity;
};

/// What is done with a pooled vector, one after another.
struct EmbeddingStep {
  std::optional<DenseLayer> dense; // none: scaled to length 1
};

struct EmbeddingFolder {
  std::string path;
  std::string name;                     // the folder's
  std::string modelPath;                // of the ONNX model
  std::vector<std::string> files;       // all that were read but the model's
  std::string pooling;                  // "cls", "mean" or "last"
  std::vector<EmbeddingStep> steps;     // but a last scaling to length 1
  bool normalizes = false;              // whether that is there
  std::optional<int64_t> wordDimension; // what the configuration has for the size of a token's vector
  std::string wordDimensionSource;      // the file and key
  std::vector<std::string> notes;       // what was assumed where the folder does not say
  /// Of the module: settings as JSON without 'dimensions', and the tokenizer's file.
  std::string settings;
  std::string tokenizerName, tokenizerKind, tokenizerBytes;
};

/// Reads all but the ONNX model. Nothing, with a reason that names file, key and both values, where something is
/// missing or not supported.
std::optional<EmbeddingFolder> readEmbeddingFolder(llvm::StringRef path, std::string &error);

/// Adds to a model of the phase import the functions "embed_cls", "embed_mean" and "embed_last", with the model's
/// inputs and two results: "embedding", and "unit_embedding", the same of length 1. Gives the number of their elements,
/// or nothing with a reason.
std::optional<int64_t> addEmbeddingFunctions(mlir::ModuleOp module, const EmbeddingFolder &folder, std::string &error);

} // namespace vx

#endif
