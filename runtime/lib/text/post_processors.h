// What is put around tokens: templates, types, and shorter spans.
#ifndef VX_TEXT_POST_PROCESSORS_H
#define VX_TEXT_POST_PROCESSORS_H

#include "vx/text/tokenizer.hpp"

#include <vector>

namespace vx::text {

// A part of a template: a text, or special tokens.
struct TemplatePart {
  int text = -1; // 0 or 1; -1: the tokens
  std::vector<int32_t> ids;
  int32_t type = 0;
};
struct Template {
  std::vector<TemplatePart> single, pair;
};

// Applied in order.
struct PostProcessor {
  // Spans lose the white space at their tokens' ends; but where `keepsFirstSpace`, not the one space that a text begins
  // with.
  struct Trim {
    bool keepsFirstSpace;
  };
  std::optional<Trim> trim = {};
  std::optional<Template> parts = {};
  bool hasOneType = false; // the type of all tokens of texts is 0
};

// How many tokens they add.
size_t countAdded(const std::vector<PostProcessor> &processors, bool isPair);

// White space at the ends of a token, in the unit of spans.
struct TokenSpace {
  uint32_t leading = 0, trailing = 0;
};

// Makes one encoding of one or two, whose `spaces` have an element for each token where spans are to be trimmed.
Encoding postProcess(std::vector<Encoding> encodings, const std::vector<PostProcessor> &processors, bool addsSpecial,
                     bool hasOffsets);
void trimSpans(Encoding &encoding, const std::vector<TokenSpace> &spaces, bool keepsFirstSpace);

// Throws Error::argument where the parts that are to be shortened have not enough tokens.
void truncate(std::vector<Encoding> &encodings, const Truncation &truncation, size_t length, bool keepsOverflow);
void pad(std::span<Encoding> encodings, const Padding &padding, bool hasOffsets);

} // namespace vx::text

#endif
