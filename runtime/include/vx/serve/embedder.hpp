// Texts to vectors, or pairs of texts to scores, by a module that vx-compile made of a folder with a model of sentence
// embeddings or with a cross-encoder.
#ifndef VX_SERVE_EMBEDDER_HPP
#define VX_SERVE_EMBEDDER_HPP

#include "vx/runtime/vx.hpp"
#include "vx/serve/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::serve {

// How the vectors of a text's tokens become one: that of the first token, their mean, or that of the last one.
enum class Pooling : uint8_t { cls, mean, last };
// "cls", "mean" or "last".
VX_SERVE_API std::string_view poolingName(Pooling pooling);
// Nothing for another word.
VX_SERVE_API std::optional<Pooling> parsePooling(std::string_view name);

// The function that makes a cross-encoder's score of its logit x: x, or 1 / (1 + exp(-x)).
enum class Activation : uint8_t { identity, sigmoid };

// One text as token numbers, with the tokens that the model needs around it.
struct Tokens {
  std::vector<int32_t> ids, typeIds; // of one length, 1 or more
  size_t whole = 0;      // the number of tokens before truncation; ids.size() if none were cut off. Of a long text only
                         // enough are counted to show that some are cut off
  bool isCounted = true; // false: `whole` is such a number
  bool isTruncated() const { return whole > ids.size(); }
};

struct TokenizeOptions {
  bool truncate = true;   // cut off the end of a text that is too long; false: that is an error
  size_t maxTokens = 0;   // of a text, including those around it; 0: the model's limit, which is also the most
  std::string prompt;     // put before the text
  std::string promptName; // one of EmbedderInfo::prompts, in place of `prompt`; neither: the model's default, if any
  bool usePrompt = true;  // false: no default prompt either
};

struct RunOptions {
  std::optional<Pooling> pooling = {}; // nothing: the model's own
  std::optional<bool> normalize = {};  // to length 1; nothing: as the model has it
  size_t dimensions = 0;               // return only the first ones, see EmbedderInfo::canShorten; 0: all
  size_t padTo = 0;                    // tokens of each text at the least, padding included
  bool operator==(const RunOptions &) const = default;
};

struct EmbedOptions {
  TokenizeOptions tokenize = {};
  RunOptions run = {};
  size_t batchTokens = 16384; // of a batch, padding included; a longer text is a batch of its own
  size_t firstText = 0;       // the number that messages give the first text
  // Called after each batch with the number of texts that are done, and of all texts.
  std::function<void(size_t done, size_t all)> progress = {};
};

// One row of values for each text.
struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<float> values; // row by row
  std::span<const float> row(size_t number) const { return {values.data() + number * columns, columns}; }
};

// Counts and times of `embed`.
struct EmbedStatistics {
  size_t texts = 0, tokens = 0, padding = 0; // of all batches
  size_t truncated = 0;                      // texts of which something was cut off
  size_t batches = 0;
  double tokenizeSeconds = 0, runSeconds = 0;
};

// The properties of the model. Immutable.
struct EmbedderInfo {
  std::string name;
  // Of a cross-encoder, which scores pairs of texts; nothing: the model embeds texts. A cross-encoder has one
  // dimension, no poolings and no prompts.
  std::optional<Activation> scores = {};
  size_t dimensions = 0;
  size_t maxTokens = 0;
  Pooling pooling = Pooling::mean; // the model's own
  bool normalizes = false;         // whether the model makes vectors of length 1
  std::vector<Pooling> poolings;   // those that the module has functions for
  std::map<std::string, std::string> prompts;
  std::string defaultPrompt;             // a name of `prompts`; empty: none
  bool canShorten = false;               // the first dimensions of a vector are a vector
  std::vector<size_t> shorterDimensions; // the allowed counts; empty: any
  std::string apart; // why each text is run by itself: rows of the module may depend on each other; empty: they do not
};

// A model on a device. Thread-safe: texts are tokenised side by side, and so are runs if the device allows it.
class VX_SERVE_API Embedder {
public:
  // Loads a .vxm, and chooses a device as an instance does. Throws vx::Error if the runtime refuses the module or the
  // device. Throws Error::data, with the asset and the key, if the module is not one of embeddings.
  explicit Embedder(const std::string &path, const InstanceOptions &options = {});
  explicit Embedder(const Module &module, const InstanceOptions &options = {});
  ~Embedder();
  Embedder(const Embedder &) = delete;
  Embedder &operator=(const Embedder &) = delete;

  // Throws Error::data as the constructor does, without making an instance.
  static void check(const Module &module);
  // Whether a module claims to be one of embeddings; `check` finds out whether it is.
  static bool isEmbedder(const Module &module);

  const EmbedderInfo &info() const;
  // The device report of the instance: the device asked for, the one chosen, and why others were not.
  std::string deviceReport(vx_report_format format = VX_REPORT_TEXT) const;
  // "cpu:0"
  const std::string &device() const;
  const Instance &instance() const;

  // Throws Error::argument for a text that is not UTF-8; for one that is too long if `truncate` is off, with both
  // numbers; for an unknown prompt, with the known ones; and for more tokens than the model accepts.
  Tokens tokenize(std::string_view text, const TokenizeOptions &options = {}) const;

  // The tokens of a query and a text for a cross-encoder. With `truncate` tokens are cut off the end of the longer one.
  // `prompt` and `promptName` are not used. Throws Error::argument as `tokenize`, and for a model that embeds texts.
  Tokens tokenizePair(std::string_view query, std::string_view text, const TokenizeOptions &options = {}) const;
  // The score of the logit that `run` gives for a pair; the logit itself for a model that embeds texts.
  float scoreOf(float logit) const;

  // As a batch, padded to the longest one, or each by itself if EmbedderInfo::apart has a reason. Row i of the result
  // is of text i. Throws Error::argument for arguments that do not fit the model, and vx::Error if the run fails. No
  // text gives an empty matrix. Of a cross-encoder a row is the logit of a pair.
  Matrix run(std::span<const Tokens> texts, const RunOptions &options = {}) const;
  Matrix run(std::span<const Tokens *const> texts, const RunOptions &options = {}) const;

  // In batches of texts of like length; row i of the result is of text i. `statistics` may be null. Throws
  // Error::argument for a cross-encoder.
  Matrix embed(std::span<const std::string> texts, const EmbedOptions &options = {},
               EmbedStatistics *statistics = nullptr) const;

  // Throws Error::argument for options that do not fit the model, as `run` would.
  void checkOptions(const RunOptions &options) const;
  // The same for the tokens of a text, with options that fit.
  void checkTokens(const Tokens &text, const RunOptions &options = {}) const;

private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace vx::serve

#endif
