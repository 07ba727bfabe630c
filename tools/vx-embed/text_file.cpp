#include "text_file.h"

#include "tool_error.h"

#include "vx/base/utf8.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>

namespace vx::tools {

using Json = nlohmann::json;

static std::string parseLine(const std::string &path, size_t number, std::string_view line) {
  const Json value = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_object() && value.contains("text") && value["text"].is_string())
    return value["text"].get<std::string>();
  throw fileError("{}: line {}: expected a JSON string or an object with a string 'text', got {}", path, number,
                  line.substr(0, 60));
}

TextFile::TextFile(const std::string &name) : path(name) {
  if (path == "-") {
    kept.assign(std::istreambuf_iterator<char>(std::cin), {});
    kept.reserve(1); // so that it is somewhere
    file.reset(::fmemopen(kept.data(), kept.size(), "rb"));
    if (!file)
      throw workError("cannot read '{}': {}", path, std::strerror(errno));
  } else {
    file = openFile(path);
  }
  for (std::string text; readText(text);)
    ++lines;
  rewind();
}

void TextFile::rewind() {
  std::rewind(file.get());
  number = 0;
}

bool TextFile::readText(std::string &text) {
  struct Line {
    ~Line() { std::free(text); }
    char *text = nullptr;
    size_t room = 0;
  } read;
  const ssize_t size = ::getline(&read.text, &read.room, file.get());
  if (size < 0 && std::ferror(file.get()))
    throw fileError("cannot read '{}': {}", path, std::strerror(errno));
  if (size < 0)
    return false;
  ++number;
  std::string_view line(read.text, static_cast<size_t>(size));
  for (char end : {'\n', '\r'})
    if (line.ends_with(end))
      line.remove_suffix(1);
  if (const size_t good = wellFormedBytes(line); good < line.size())
    throw fileError("{}: line {}: expected text of UTF-8, got the byte 0x{:02x} at column {}", path, number,
                    static_cast<uint8_t>(line[good]), good + 1);
  if (constexpr std::string_view mark = "\xef\xbb\xbf"; number == 1 && line.starts_with(mark))
    line.remove_prefix(mark.size());
  text = path.ends_with(".jsonl") ? parseLine(path, number, line) : std::string(line);
  return true;
}

std::vector<std::string> TextFile::next(size_t most) {
  constexpr size_t MostBytes = size_t(16) << 20;
  std::vector<std::string> texts;
  size_t bytes = 0;
  for (std::string text; given < lines && texts.size() < most && bytes < MostBytes; ++given) {
    if (!readText(text))
      throw fileError("{}: had {} lines, and has {} now", path, lines, given);
    bytes += text.size();
    texts.push_back(std::move(text));
  }
  return texts;
}

} // namespace vx::tools
