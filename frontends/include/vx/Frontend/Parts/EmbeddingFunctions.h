// The functions of a model of sentence embeddings or of a cross-encoder, after those of its encoder.
#ifndef VX_FRONTEND_PARTS_EMBEDDINGFUNCTIONS_H
#define VX_FRONTEND_PARTS_EMBEDDINGFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vx {

/// result = activation(weight * vector + bias)
struct DenseLayer {
  std::string path;                    // the file of its weights, for messages
  std::string inFeatures, outFeatures; // the sources of its sizes, for messages
  int64_t inputs = 0, outputs = 0;
  std::vector<float> weight; // [outputs, inputs]
  std::vector<float> bias;   // empty: none
  enum class Activation { Identity, Tanh, Relu, Sigmoid, Gelu } activation = Activation::Identity;
};

/// A step that is applied to a pooled vector, in sequence.
struct EmbeddingStep {
  std::optional<DenseLayer> dense; // none: scaled to length 1
};

struct EmbeddingFolder {
  std::string path;
  std::string name;      // the folder's
  std::string modelPath; // of the ONNX model, or of the weights that its config.json describes
  bool isOnnx = true;
  std::vector<std::string> files;       // all files that were read, except the model's
  bool scores = false;                  // a cross-encoder: one number for a pair of texts, no vectors
  std::string pooling;                  // "cls", "mean" or "last"; empty for a cross-encoder
  std::vector<EmbeddingStep> steps;     // without a last scaling to length 1
  bool normalizes = false;              // true with a last scaling to length 1
  std::optional<int64_t> wordDimension; // the size of a token's vector in the configuration
  std::string wordDimensionSource;      // the file and key
  std::vector<std::string> notes;       // assumptions about settings that the folder lacks
  /// Assets of the module: settings as JSON without 'dimensions', and the tokenizer's file.
  std::string settings;
  std::string tokenizerName, tokenizerKind, tokenizerBytes;
};

/// Adds to a model of the phase import the functions "embed_cls", "embed_mean" and "embed_last", with the model's
/// inputs and two results: "embedding", and "unit_embedding", the same of length 1. To a cross-encoder the function
/// adds "score" alone, with the result "logit" of batch and 1. Returns the number of their elements in a row, or
/// nullopt with a reason.
std::optional<int64_t> addEmbeddingFunctions(mlir::ModuleOp module, const EmbeddingFolder &folder, std::string &error);

} // namespace vx

#endif
