// The components of tokenizer.json.
#ifndef VX_TEXT_READ_COMPONENTS_H
#define VX_TEXT_READ_COMPONENTS_H

#include "text/decoders.h"
#include "text/json_node.h"
#include "text/models.h"
#include "text/post_processors.h"
#include "text/pre_tokenizers.h"

namespace vx::text {

// Numbers of tokens are below this.
constexpr int64_t mostTokens = 1 << 26;

NormalizerPointer readNormalizer(const JsonNode &node);
// Where `keepsBytes`, a ByteLevel leaves bytes as they are.
PreTokenizerPointer readPreTokenizer(const JsonNode &node, bool keepsBytes);
// Whether the last thing that happens to words, and the only one of its kind, is that bytes become characters.
bool endsInByteLevel(const JsonNode &node);
ModelPointer readModel(const JsonNode &node, bool isOfBytes);
void readPostProcessor(const JsonNode &node, std::vector<PostProcessor> &processors);
DecoderPointer readDecoder(const JsonNode &node);
Pattern readPattern(const JsonNode &node);
// The one character of a string.
char32_t readCharacter(const JsonNode &node);

} // namespace vx::text

#endif
