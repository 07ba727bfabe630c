// How tokens become text.
#ifndef VX_TEXT_DECODERS_H
#define VX_TEXT_DECODERS_H

#include "text/pattern.h"

#include <memory>
#include <string>
#include <vector>

namespace vx::text {

class Decoder {
public:
  virtual ~Decoder() = default;
  // Changes the texts of tokens, which are joined in the end. They are bytes: a character may be in several. Where
  // `keepsBytes`, what is no UTF-8 stays as it is, for a stream that goes on.
  virtual void decode(std::vector<std::string> &tokens, bool keepsBytes) const = 0;
};
using DecoderPointer = std::unique_ptr<const Decoder>;

DecoderPointer makeSequence(std::vector<DecoderPointer> parts);
DecoderPointer makeWordPieceDecoder(std::string prefix, bool cleansUp);
DecoderPointer makeByteLevelDecoder();
DecoderPointer makeMetaspaceDecoder(std::string replacement, bool dropsFirst);
DecoderPointer makeBpeDecoder(std::string suffix);
DecoderPointer makeByteFallbackDecoder();
DecoderPointer makeFuseDecoder();
DecoderPointer makeStripDecoder(std::string content, size_t start, size_t stop);
DecoderPointer makeReplaceDecoder(Pattern pattern, std::string content);
DecoderPointer makeCtcDecoder(std::string padding, std::string delimiter, bool cleansUp);

} // namespace vx::text

#endif
