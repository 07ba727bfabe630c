// Another runtime that runs the same model beside ours, through scripts/bench-peer.
#ifndef VX_BENCH_PEER_H
#define VX_BENCH_PEER_H

#include "measurement.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// A step that a peer takes, as the module's training table says it.
struct PeerTraining {
  std::string loss;                    // "cross_entropy:smoothing=0.1"
  std::string optimizer;               // "adamw:beta1=0.9,...", with the clipping of gradients
  std::vector<std::string> parameters; // that are trained, by the model's names
  std::vector<std::string> statistics; // that batch norms collect
  std::optional<int64_t> rows;         // of the batch
};

// Texts that a peer tokenises and makes vectors of, as a module of embeddings does.
struct PeerEmbedding {
  std::string tokenizer; // the path of a tokenizer.json or vocab.txt
  std::vector<std::string> texts;
  std::string pooling; // "cls", "mean" or "last"
  bool normalize = false;
  size_t maxTokens = 0;
  int32_t padding = 0;
  std::string folder;          // with the modules.json that names dense layers after the model; empty: there are none
  std::vector<float> expected; // the vector of the first text: another one is an error
};

struct PeerRequest {
  std::string name;   // "onnxruntime"
  std::string script; // the path of bench-peer; empty: scripts/bench-peer in a folder above this tool
  std::string module; // the module that it competes with, for the report
  std::string function;
  std::string model; // the .onnx file
  uint32_t threads = 1;
  SymbolValues dims;
  std::map<std::string, std::string> inputs; // name -> .npy file
  std::optional<PeerEmbedding> embedding;    // nothing: the inputs are tensors
  std::optional<PeerTraining> training;      // nothing: the model is run as it is
};

// Starts the script and loads the model. Throws a ToolError: exit 3 when the peer cannot take the model, exit 1 when it
// does not answer.
std::unique_ptr<Contestant> makePeerContestant(const PeerRequest &request);

// The files that the model has its weights in, beside its own. None when it cannot be read: the peer says why.
std::vector<std::string> peerWeightFiles(const std::string &model);

} // namespace vx::tools

#endif
