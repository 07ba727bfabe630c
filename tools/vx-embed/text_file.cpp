#include "text_file.h"

#include "input_file.h"
#include "tool_error.h"

#include "vx/base/utf8.h"

#include <nlohmann/json.hpp>

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
  throw fileError("{}: line {}: want a JSON string or an object with a string 'text', got {}", path, number,
                  line.substr(0, 60));
}

std::vector<std::string> readTexts(const std::string &path) {
  std::string content;
  if (path == "-") {
    content.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    const std::vector<uint8_t> bytes = readFile(path);
    content.assign(bytes.begin(), bytes.end());
  }
  const bool isJson = path.ends_with(".jsonl");
  std::vector<std::string> texts;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    std::string_view line = std::string_view(content).substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (const size_t good = wellFormedBytes(line); good < line.size())
      throw fileError("{}: line {}: want text of UTF-8, got the byte 0x{:02x} at column {}", path, texts.size() + 1,
                      static_cast<uint8_t>(line[good]), good + 1);
    texts.push_back(isJson ? parseLine(path, texts.size() + 1, line) : std::string(line));
  }
  return texts;
}

} // namespace vx::tools
