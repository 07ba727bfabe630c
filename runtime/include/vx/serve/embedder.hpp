// Texts to vectors, by a module that vx-compile made of a folder with a model of sentence embeddings.
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

// What becomes of the vectors of a text's tokens: that of the first token, their mean, or that of the last one.
enum class Pooling : uint8_t { cls, mean, last };
// "cls", "mean" or "last".
VX_SERVE_API std::string_view poolingName(Pooling pooling);
// Nothing for another word.
VX_SERVE_API std::optional<Pooling> parsePooling(std::string_view name);

// One text as numbers, with the tokens that the model wants around it.
struct Tokens {
  std::vector<int32_t> ids, typeIds; // of one length, 1 or more
  size_t whole = 0;      // how many there were before any were cut off; ids.size() where none were. Of a long text only
                         // so many are counted as show that something is cut off
  bool isCounted = true; // false: `whole` is such a number
  bool isTruncated() const { return whole > ids.size(); }
};

struct TokenizeOptions {
  bool truncate = true;   // cut off what is too long at the end; false: that is an error
  size_t maxTokens = 0;   // of a text, those around it included; 0: what the model takes, which is also the most
  std::string prompt;     // stands before the text
  std::string promptName; // one of EmbedderInfo::prompts, in place of `prompt`; neither: the model's default, if any
  bool usePrompt = true;  // false: no default prompt either
};

struct RunOptions {
  std::optional<Pooling> pooling = {}; // nothing: the model's own
  std::optional<bool> normalize = {};  // to length 1; nothing: as the model has it
  size_t dimensions = 0;               // keep the first ones, see EmbedderInfo::canShorten; 0: all
  size_t padTo = 0;                    // tokens of each text at the least, padding included
  bool operator==(const RunOptions &) const = default;
};

struct EmbedOptions {
  TokenizeOptions tokenize = {};
  RunOptions run = {};
  size_t batchTokens = 16384; // of a batch, padding included; a longer text is a batch of its own
  size_t firstText = 0;       // the number that messages give the first text
  // Called after each batch with how many texts are done, of how many.
  std::function<void(size_t done, size_t all)> progress = {};
};

// Rows of numbers, one for each text.
struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<float> values; // row by row
  std::span<const float> row(size_t number) const { return {values.data() + number * columns, columns}; }
};

// What `embed` did.
struct EmbedStatistics {
  size_t texts = 0, tokens = 0, padding = 0; // of all batches
  size_t truncated = 0;                      // texts of which something was cut off
  size_t batches = 0;
  double tokenizeSeconds = 0, runSeconds = 0;
};

// What the model is. Immutable.
struct EmbedderInfo {
  std::string name;
  size_t dimensions = 0;
  size_t maxTokens = 0;
  Pooling pooling = Pooling::mean; // the model's own
  bool normalizes = false;         // whether the model makes vectors of length 1
  std::vector<Pooling> poolings;   // those that the module has functions for
  std::map<std::string, std::string> prompts;
  std::string defaultPrompt;             // a name of `prompts`; empty: none
  bool canShorten = false;               // the first dimensions of a vector are a vector
  std::vector<size_t> shorterDimensions; // only so many; empty: any number
  std::string apart; // why each text is run by itself: the module's rows may depend on one another; empty: they do not
};

// A model on a device. Thread-safe: texts are tokenised side by side; runs, too, as far as the device lets them.
class VX_SERVE_API Embedder {
public:
  // Loads a .vxm, and takes a device as an instance does. Throws vx::Error where the runtime refuses the module or the
  // device, and Error::data where the module is none of embeddings, which names the asset and the key.
  explicit Embedder(const std::string &path, const InstanceOptions &options = {});
  explicit Embedder(const Module &module, const InstanceOptions &options = {});
  ~Embedder();
  Embedder(const Embedder &) = delete;
  Embedder &operator=(const Embedder &) = delete;

  // Throws Error::data as the constructor does, for a module of which no instance is made.
  static void check(const Module &module);
  // Whether a module says that it is one of embeddings, right or wrong.
  static bool isEmbedder(const Module &module);

  const EmbedderInfo &info() const;
  // What the instance says of its device: which was wanted, which was taken, why others were not.
  std::string deviceReport(vx_report_format format = VX_REPORT_TEXT) const;
  // "cpu:0"
  const std::string &device() const;
  const Instance &instance() const;

  // Throws Error::argument for a text that is no UTF-8, one that is too long where `truncate` is off, with both
  // numbers, a name of no prompt, with those that there are, and more tokens than the model takes.
  Tokens tokenize(std::string_view text, const TokenizeOptions &options = {}) const;

  // As a batch, padded to the longest one, or each by itself where EmbedderInfo::apart says why; row i of the result is
  // of text i. Throws Error::argument for what does not
  // fit the model, and vx::Error where the run fails. No text is an empty matrix.
  Matrix run(std::span<const Tokens> texts, const RunOptions &options = {}) const;
  Matrix run(std::span<const Tokens *const> texts, const RunOptions &options = {}) const;

  // In batches of texts of like length; row i of the result is of text i. `statistics` may be null.
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
