// How a text is cut into words, none of which a token reaches over.
#ifndef VX_TEXT_PRE_TOKENIZERS_H
#define VX_TEXT_PRE_TOKENIZERS_H

#include "text/normalizers.h"
#include "text/pieces.h"

namespace vx::text {

// What becomes of the parts that a pattern matches.
enum class Behaviour : uint8_t { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
enum class PrependScheme : uint8_t { First, Never, Always };

class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;
  // Cuts the pieces of the list that are no tokens; none is empty afterwards.
  virtual void split(Pieces &pieces, WorkMemory &memory) const = 0;
  // Whether it asks where a piece comes from.
  virtual bool needsPlaces() const { return false; }
  // Whether a space between two small letters of ASCII always ends a word, and what is in front of it is cut as it
  // would be where the text ended there.
  virtual bool isLocal() const { return false; }
};
using PreTokenizerPointer = std::unique_ptr<const PreTokenizer>;

PreTokenizerPointer makeSequence(std::vector<PreTokenizerPointer> parts);
PreTokenizerPointer makeBertWords();
PreTokenizerPointer makeWhitespace();
PreTokenizerPointer makeWhitespaceSplit();
PreTokenizerPointer makePunctuation(Behaviour behaviour);
PreTokenizerPointer makeDigits(bool isIndividual);
PreTokenizerPointer makeDelimiter(char32_t delimiter);
PreTokenizerPointer makeFixedLength(size_t length);
// Where the script changes; ideographs and both kana are of one.
PreTokenizerPointer makeScripts();
PreTokenizerPointer makeSplit(Pattern pattern, Behaviour behaviour, bool isInverted);
PreTokenizerPointer makeMetaspace(std::string replacement, PrependScheme scheme, bool splits);
// Where `keepsBytes`, words stay bytes, for a model whose vocabulary is one of bytes.
PreTokenizerPointer makeByteLevel(bool addsSpace, bool splits, bool keepsBytes);

} // namespace vx::text

#endif
