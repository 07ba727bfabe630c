// Text out of a language model: a module that vx-compile made of a GGUF file or of a folder. The library is libvx_llm.
#ifndef VX_LLM_GENERATOR_HPP
#define VX_LLM_GENERATOR_HPP

#include "vx/runtime/vx.hpp"
#include "vx/text/sampling_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Marks the symbols that the shared library exports.
#if defined(__GNUC__)
#define VX_LLM_API __attribute__((visibility("default")))
#else
#define VX_LLM_API
#endif

namespace vx::llm {

// An error of this library, as one line with the expected and the given value. Its code is VX_INVALID_ARGUMENT for a
// prompt or an option that does not fit the model, and VX_INVALID_MODULE for a module that is no language model or is
// damaged. It is VX_UNSUPPORTED for a conversation without a chat template that this library supports, and
// VX_OUT_OF_MEMORY for a model or a context that does not fit. Other failures of the runtime are thrown as vx::Error
// itself.
class VX_LLM_API Error : public vx::Error {
public:
  using vx::Error::Error;
};

// Of the module. Immutable.
struct ModelInfo {
  std::string family;        // "llama"
  size_t context = 0;        // the most tokens of a sequence
  size_t vocabulary = 0;     // the number of logits
  size_t width = 0;          // the elements of a token's state
  std::vector<int32_t> ends; // tokens that end an answer
  std::string chatTemplate;  // Jinja; empty: the model has none
  // Variables of the template: "bos_token" and others.
  std::map<std::string, std::string> templateTokens;
};

// Of a conversation. UTF-8.
struct Message {
  std::string role; // "system", "user" or "assistant"
  std::string content;
};

struct GenerateOptions {
  text::SamplingOptions sampling = {};
  size_t maxTokens = 0;          // of the answer; 0: as many as there is room for
  std::vector<std::string> stop; // strings that end the answer, which does not have them
  // Called by `generate` and `chat` with each piece of the answer, whole characters of UTF-8, on the thread of the
  // call. It may throw, which ends the answer.
  std::function<void(std::string_view piece)> onText = {};
  // Asked before each token and between parts of a long prompt; true ends the answer.
  std::function<bool()> isCancelled = {};
};

enum class FinishReason : uint8_t {
  stop,     // the model has ended the answer, or a stop string was found
  length,   // maxTokens, or the room of the cache
  cancelled // isCancelled, or Generation::cancel
};

// How the states of a text's tokens become its embedding.
enum class Pooling : uint8_t {
  last, // the state of the last token, which depends on all tokens
  mean, // the mean of all states
  none  // each state by itself
};

// "stop", "length" or "cancelled"
VX_LLM_API std::string_view finishReasonName(FinishReason reason);

struct Answer {
  std::vector<int32_t> tokens; // without one that ends the answer
  std::string text;
  FinishReason finish = FinishReason::stop;
  size_t promptTokens = 0;
  size_t cachedTokens = 0;                     // of the prompt, which the cache had from the call before
  double promptSeconds = 0, answerSeconds = 0; // the calls for the prompt, and those for tokens after the first
};

// An answer in progress. It keeps the model alive. The next answer that the model starts ends this one.
// Thread-compatible, together with its generator: one thread at a time uses the two. `cancel` is thread-safe.
class VX_LLM_API Generation {
public:
  Generation(Generation &&other) noexcept;
  Generation &operator=(Generation &&other) noexcept;
  ~Generation();

  // Computes the next token, the prompt before the first one. Returns the piece of text that it completes, whole
  // characters of UTF-8, which may be empty; nothing after the last one. Throws Error: VX_INVALID_ARGUMENT if the model
  // has started another answer, and for logits that are no numbers; vx::Error if a call fails.
  std::optional<std::string> next();
  // As far as it goes. `finish` is valid after the last piece.
  const Answer &answer() const;
  // Ends the answer before its next token. It does not wait. Thread-safe.
  void cancel() noexcept;

  // The pieces that are not empty: for (std::string_view piece : generation). Each is computed when it is reached, and
  // is valid up to the next one. Throws as `next`.
  class Iterator {
  public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    explicit Iterator(Generation &generation) : generation(&generation) { ++*this; }
    std::string_view operator*() const { return *piece; }
    Iterator &operator++() {
      do
        piece = generation->next();
      while (piece && piece->empty());
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !piece; }

  private:
    Generation *generation;
    std::optional<std::string> piece;
  };
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

  struct Implementation;

private:
  friend class Generator;
  explicit Generation(std::unique_ptr<Implementation> made);
  std::unique_ptr<Implementation> implementation;
};

// A module on a device, with a cache of keys and values for one sequence. Thread-compatible; functions that are const
// are thread-safe. Different generators of one module share its weights on a device, and run at the same time.
class VX_LLM_API Generator {
public:
  // `context` is the room of the cache in tokens; 0: 4096, or the model's context if that is less. `options.symbols` is
  // not used. Throws Error: VX_INVALID_MODULE if the module is no language model, VX_INVALID_ARGUMENT for more than the
  // model's context, VX_OUT_OF_MEMORY if the memory does not suffice, with the bytes of the weights and of the cache,
  // and the largest context that fits. Throws vx::Error if the runtime refuses the file or the device.
  explicit Generator(const Module &module, InstanceOptions options = {}, size_t context = 0);
  explicit Generator(const std::string &path, InstanceOptions options = {}, size_t context = 0);
  Generator(Generator &&other) noexcept;
  Generator &operator=(Generator &&other) noexcept;
  ~Generator();

  // Whether a module claims to be a language model; the constructor finds out whether it is.
  static bool isLanguageModel(const Module &module);
  // Of a module that need not be on a device. Throws Error: VX_INVALID_MODULE.
  static ModelInfo infoOf(const Module &module);

  const ModelInfo &info() const;
  size_t context() const; // the room of the cache in tokens
  const Instance &instance() const;

  // The tokens of a text. Throws Error: VX_INVALID_ARGUMENT for text that is no UTF-8, or has a part without a token.
  std::vector<int32_t> encode(std::string_view text) const;
  // The tokens of a conversation and of the beginning of an answer, by the model's chat template. A special token that
  // a message spells is plain text: nobody ends a message, or begins one of another role, from inside. Throws Error:
  // VX_INVALID_ARGUMENT for text that is no UTF-8 and for a conversation that the template refuses, and as `checkChat`.
  std::vector<int32_t> encode(std::span<const Message> conversation) const;
  // The text of tokens, without special ones; numbers that no token has are left out.
  std::string decode(std::span<const int32_t> tokens) const;
  // Throws Error: VX_UNSUPPORTED if the model has no chat template, or one with a part that is not supported, with the
  // line.
  void checkChat() const;

  // Computes the prompt, then the answer, a token at a time. The tokens that the prompt has in common with the last one
  // and its answer are not computed again. Throws Error: VX_INVALID_ARGUMENT for an empty prompt, for one that leaves
  // no room for an answer, with both numbers, for a number that is no token, and for options that do not fit; and as
  // `encode` and Generation::next.
  Answer generate(std::string_view prompt, const GenerateOptions &options = {});
  Answer generate(std::span<const int32_t> prompt, const GenerateOptions &options = {});
  // The answer to a conversation.
  Answer chat(std::span<const Message> conversation, const GenerateOptions &options = {});
  // The same, a piece at a time; `onText` is not called.
  Generation start(std::span<const int32_t> prompt, const GenerateOptions &options = {});

  // Forgets the tokens of the cache. An answer in progress ends.
  void clear();
  // The logits of the token after `tokens`, which follow those of the cache and stay in it. An answer in progress ends.
  // Throws Error: VX_INVALID_ARGUMENT for no tokens, for more than the room that is left, and for a number that is no
  // token; vx::Error if a call fails.
  std::vector<float> append(std::span<const int32_t> tokens);
  // The natural logarithm of the probability of each token from number `first` on, given all tokens before it. The
  // cache does not change. The logits of all tokens are in memory at one time, 4 bytes for each word of the vocabulary
  // and token. Throws Error: VX_INVALID_ARGUMENT for a `first` that is not from 1 to the number of tokens, for more
  // tokens than the context, and for a number that is no token; vx::Error if the call fails.
  std::vector<double> score(std::span<const int32_t> tokens, size_t first);

  // The embedding of a text, by the states of its tokens from which the head makes logits. For `last` and `mean` it is
  // a vector of `info().width` elements and of length 1; for `none` there is a state for each token, in sequence, of
  // any length. Neither the cache nor an answer in progress changes. Throws Error: VX_INVALID_ARGUMENT for a text
  // without a token, for more tokens than the context, and for a number that is no token; VX_INVALID_MODULE for a
  // module that an older vx-compile made, which has no function `embed`; as `encode`; vx::Error if the call fails.
  std::vector<float> embed(std::string_view text, Pooling pooling = Pooling::last);
  std::vector<float> embed(std::span<const int32_t> tokens, Pooling pooling = Pooling::last);

  struct Implementation;

private:
  friend struct GeneratorAccess; // of the library
  // Shared with answers in progress. A generator that was moved from has none, and can only be destroyed or assigned.
  std::shared_ptr<Implementation> implementation;
};

} // namespace vx::llm

#endif
