// Renders templates for a comparison, over pipes: template_peer < REQUESTS > ANSWERS.
//
// A request is a count of bytes and so many bytes of a template, and the same of the variables as JSON. Counts have 4
// bytes, little-endian. An answer is a letter, a count and so many bytes: 'r' the rendered text, 'p' an error of the
// parser, 'e' another error. The clock says 2024-07-26 12:34:56 UTC.
#include "vx/text/chat_template.hpp"

#include <cstdint>
#include <cstdio>

namespace {

bool readText(std::string &text) {
  uint32_t size = 0;
  if (std::fread(&size, sizeof size, 1, stdin) != 1)
    return false;
  text.resize(size);
  return std::fread(text.data(), 1, size, stdin) == size;
}

void answer(char kind, const std::string &text) {
  const uint32_t size = static_cast<uint32_t>(text.size());
  std::fputc(kind, stdout);
  std::fwrite(&size, sizeof size, 1, stdout);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

} // namespace

int main() {
  std::string source, variables;
  vx::text::RenderLimits limits;
  limits.now = 1721997296;
  while (readText(source)) {
    if (!readText(variables))
      return 1;
    try {
      answer('r', vx::text::ChatTemplate::parse(source).render(variables, limits));
    } catch (const vx::text::Error &error) {
      answer(error.kind() == vx::text::Error::Kind::file ? 'p' : 'e', error.what());
    }
  }
  return 0;
}
