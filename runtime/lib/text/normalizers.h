// What is done to a text before it is cut into words.
#ifndef VX_TEXT_NORMALIZERS_H
#define VX_TEXT_NORMALIZERS_H

#include "text/aligned_text.h"
#include "text/pattern.h"

#include <memory>
#include <string>
#include <vector>

namespace vx::text {

// What a call needs while it runs, kept for the next one.
struct WorkMemory {
  PatternMemory patterns;
  std::vector<Span> matches;
  std::vector<Change> changes;
};

class Normalizer {
public:
  virtual ~Normalizer() = default;
  virtual void normalize(AlignedText &text, WorkMemory &memory) const = 0;
  // Whether what is in front of a space between two small letters of ASCII becomes what it would where the text ended
  // there.
  virtual bool isLocal() const { return false; }
};
using NormalizerPointer = std::unique_ptr<const Normalizer>;

struct BertRules {
  bool cleans = true, splitsChinese = true, stripsAccents = true, lowercases = true;
};

// One behind the other.
NormalizerPointer makeSequence(std::vector<NormalizerPointer> parts);
NormalizerPointer makeBert(BertRules rules);
// NFC, NFD, NFKC and NFKD.
NormalizerPointer makeNormalForm(bool composes, bool isCompatible);
NormalizerPointer makeLowercase();
NormalizerPointer makeStrip(bool left, bool right);
NormalizerPointer makeStripAccents();
NormalizerPointer makeReplace(Pattern pattern, std::string content);
NormalizerPointer makePrepend(std::string front);
NormalizerPointer makeAppend(std::string back);
NormalizerPointer makeNmt();
// Each byte becomes the character that stands for it (byte_alphabet.h).
NormalizerPointer makeByteCharacters();
// By the rules that SentencePiece compiles (charsmap.h).
NormalizerPointer makePrecompiled(std::string charsmap);

} // namespace vx::text

#endif
