// Converts text to the token numbers of a model, and back.
#ifndef VX_TEXT_TOKENIZER_HPP
#define VX_TEXT_TOKENIZER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vx {
class GgufFile;
}

namespace vx::text {

// An error, as one line with the expected and the given value.
class Error : public std::runtime_error {
public:
  enum class Kind {
    file,    // a vocabulary that is damaged, or has an unsupported component
    argument // a text or an option that does not fit
  };
  Error(Kind kind, const std::string &message) : std::runtime_error(message), what_kind(kind) {}
  Kind kind() const { return what_kind; }

private:
  Kind what_kind;
};

// The part of a text from `begin` up to before `end`.
struct Span {
  uint32_t begin = 0, end = 0;
  bool operator==(const Span &) const = default;
};

// The unit of spans. `none` leaves them out, which is the fastest.
enum class OffsetUnit : uint8_t { none, bytes, code_points };

enum class Side : uint8_t { left, right };

struct Truncation {
  enum class Strategy : uint8_t { longest_first, only_first, only_second };
  size_t max_length = 512; // of all tokens, including those that the template adds
  size_t stride = 0;       // tokens that an overflowing part has in common with the one before it
  Strategy strategy = Strategy::longest_first;
  Side side = Side::right; // where tokens are cut off
};

struct Padding {
  std::optional<size_t> length = {}; // nothing: that of the longest of the batch
  size_t multiple_of = 0;            // 0: any length
  Side side = Side::right;           // where padding is added
  int32_t id = 0, type_id = 0;
};

// All lists except `offsets` and `overflowing` have one element for each token.
struct Encoding {
  std::vector<int32_t> ids, type_ids;
  std::vector<int32_t> attention_mask;      // 1, and 0 for padding
  std::vector<int32_t> special_tokens_mask; // 1 for a token of the template or of padding
  std::vector<int32_t> words;               // the number of the word that the token is of; -1: none
  std::vector<Span> offsets;                // its range in the text; empty for OffsetUnit::none
  std::vector<Encoding> overflowing;        // the parts that truncation has cut off, with the template around each
  bool is_truncated = false;                // truncation has cut tokens off
};

struct EncodeOptions {
  bool add_special_tokens = true;   // those of the template, as [CLS] and [SEP]
  bool match_special_tokens = true; // a special token written out in the text is that token; false: it is plain text
  OffsetUnit offsets = OffsetUnit::bytes;
  bool overflowing = false; // return the parts that truncation cuts off
  std::optional<Truncation> truncation = {};
  std::optional<Padding> padding = {};
};

// The rules for words if a vocabulary is a list of pieces without a description, as BERT's vocab.txt.
struct WordPieceOptions {
  bool lowercase = true;
  std::optional<bool> strip_accents = {}; // nothing: as `lowercase`
  bool chinese_characters = true;         // each is a word
  std::string unknown = "[UNK]", first = "[CLS]", separator = "[SEP]", padding = "[PAD]", mask = "[MASK]";
};

// A vocabulary with its rules and its template. Immutable, and shared by copies. Thread-safe; calls on several threads
// do not wait for each other.
class Tokenizer {
public:
  // From the bytes of a file, which may be freed afterwards. Throw Error::file that names the component, the node or
  // the offset.
  static Tokenizer from_json(std::string_view tokenizer_json);
  static Tokenizer from_vocabulary(std::string_view vocab_txt, const WordPieceOptions &options = {});
  static Tokenizer from_sentencepiece(std::string_view model);
  // From the tables of a GGUF file, keys tokenizer.ggml.*: byte-level BPE (gpt2), SentencePiece's BPE (llama) and
  // Unigram (t5), and WordPiece (bert). A `tokenizer.ggml.pre` whose rules are not known is an error with the known
  // names.
  static Tokenizer from_gguf(const GgufFile &file);
  // From a file, by the end of its name: .json, .txt, .model or .gguf.
  static Tokenizer load(const std::string &path);

  // The options that the file asks for: truncation and padding where tokenizer.json has them.
  const EncodeOptions &default_options() const;

  // If truncation drops the end of a long text, only the front of it is processed. `text` is UTF-8 of less than 4 GB.
  // Throws Error::argument if it is not, if `truncation` leaves no room for the tokens of the template, and if the text
  // has a part that the vocabulary has no token for, not even an unknown one.
  Encoding encode(std::string_view text) const { return encode(text, default_options()); }
  Encoding encode(std::string_view text, const EncodeOptions &options) const;
  Encoding encode_pair(std::string_view first, std::string_view second) const {
    return encode_pair(first, second, default_options());
  }
  Encoding encode_pair(std::string_view first, std::string_view second, const EncodeOptions &options) const;
  // Each by itself, then all padded to one length if `options` has padding.
  std::vector<Encoding> encode_batch(std::span<const std::string_view> texts, const EncodeOptions &options) const;

  // The text of tokens in UTF-8; other bytes become U+FFFD. Numbers that no token has are left out, and so are special
  // tokens with `skip_special_tokens`.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  // Numbers of tokens are below this; a number may have no token.
  size_t vocabulary_size() const;
  std::optional<int32_t> token_to_id(std::string_view token) const;
  // As the vocabulary spells it.
  std::optional<std::string> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;

  struct Implementation;
  const Implementation &implementation() const { return *shared; }

private:
  explicit Tokenizer(std::shared_ptr<const Implementation> implementation) : shared(std::move(implementation)) {}
  friend class DecodeStream;
  std::shared_ptr<const Implementation> shared;
};

// The tokens of a GGUF file that end an answer, each once: first those of the keys eos, eot and eom of tokenizer.ggml.
// Then come control tokens and user-defined ones whose text llama.cpp takes for an end, as "<|im_end|>". Throws
// Error::file for a key that is no token's number.
std::vector<int32_t> end_tokens(const GgufFile &file);

// Converts a stream of tokens to text. Text that was returned never changes, and consists of whole characters.
// Thread-compatible.
class DecodeStream {
public:
  explicit DecodeStream(Tokenizer tokenizer, bool skip_special_tokens = true);
  // The text that this token completes; empty while a character is not complete.
  std::string push(int32_t id);
  // The rest of the stream: U+FFFD for an incomplete character, else nothing. The stream then begins anew.
  std::string finish();

private:
  Tokenizer tokenizer;
  bool skips;
  std::vector<int32_t> window; // the tokens that the text at the end depends on
  size_t context = 0;          // how many of the window are only context
  std::string given;           // the bytes of the window so far
};

} // namespace vx::text

#endif
