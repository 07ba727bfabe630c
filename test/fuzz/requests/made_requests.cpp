#include "made_requests.h"

#include <fmt/format.h>

#include <span>

namespace vx::fuzz {

std::string RequestMaker::text() {
  std::string text;
  // One text in ten is longer than the models take.
  for (size_t words = isOneOf(10) ? 15 + draw(6) : 1 + draw(6); words > 0; --words)
    text += fmt::format("{}{}", text.empty() ? "" : " ", static_cast<char>('a' + draw(26)));
  return text;
}

std::string RequestMaker::input() {
  const auto one = [this]() -> std::string {
    if (!isOneOf(4))
      return '"' + text() + '"';
    std::string tokens = "2";
    for (size_t count = draw(6); count > 0; --count)
      tokens += fmt::format(",{}", 5 + draw(26));
    return "[" + tokens + ",3]";
  };
  if (isOneOf(2))
    return one();
  std::string list;
  for (size_t count = 1 + draw(4); count > 0; --count)
    list += (list.empty() ? "" : ",") + one();
  return "[" + list + "]";
}

MadeRequest RequestMaker::embedding() {
  const bool isOpenAi = !isOneOf(3);
  std::string body = fmt::format("{{\"model\":\"{}\",\"input\":{}", oneOf(embedders), input());
  const auto add = [&](size_t odds, std::string_view name, const std::vector<std::string> &values) {
    if (!isOneOf(odds))
      body += fmt::format(",\"{}\":{}", name, oneOf(values));
  };
  // Each is left out as often as not.
  add(2, "pooling", {"\"mean\"", "\"cls\"", "\"cls\""});
  add(2, "normalize", {"true", "false", "false"});
  add(2, "dimensions", {"1", "2", "3", "4"});
  if (!isOneOf(3))
    body += ",\"truncate\":true";
  if (isOneOf(4))
    body += ",\"prompt_name\":\"query\"";
  if (isOpenAi)
    add(2, "encoding_format", {"\"float\"", "\"base64\""});
  if (isOneOf(50))
    body += oneOf<std::string>({",\"pooling\":\"last\"", ",\"dimensions\":5", ",\"normalize\":1", ",\"other\":1"});
  return {isOpenAi ? "/v1/embeddings" : "/api/v1/embeddings", body + "}", {{"content-type", "application/json"}}};
}

void RequestMaker::changeMix() {
  struct Size {
    size_t rows, columns;
  };
  static const std::vector<Size> sizes = {{2, 3}, {3, 2}, {1, 6}, {6, 1}};
  const auto resize = [&](const Size &size) { mix.tableRows = size.rows, mix.tableColumns = size.columns; };
  // Tables that come again, which differ in one element.
  const auto fill = [this] {
    for (size_t i = 0; i < mix.table.size(); ++i)
      mix.table[i] = static_cast<float>(i);
    mix.table[draw(2)] = static_cast<float>(draw(3));
  };
  if (!mix.model.empty() && isOneOf(2)) {
    isOneOf(2) ? resize(oneOf(sizes)) : fill();
    return;
  }
  mix.model = oneOf(mixers);
  mix.function = isOneOf(3) ? "" : isOneOf(2) ? "mix" : "mix_more";
  mix.width = 2 + draw(2);
  resize(isOneOf(2) ? sizes[0] : oneOf(sizes));
  fill();
}

MadeRequest RequestMaker::inference() {
  changeMix();
  const size_t rows = 1 + draw(4);
  std::vector<float> x;
  for (size_t i = 0; i < rows * mix.width; ++i)
    x.push_back(static_cast<float>(draw(64)) * 0.25f);
  std::string binary;
  const auto tensor = [&](std::string_view name, size_t first, size_t second, std::span<const float> values) {
    std::string json = fmt::format("{{\"name\":\"{}\",\"datatype\":\"FP32\",\"shape\":[{},{}],", name, first, second);
    if (isOneOf(2)) {
      binary.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
      return json + fmt::format("\"parameters\":{{\"binary_data_size\":{}}}}}", values.size() * sizeof(float));
    }
    json += "\"data\":[";
    for (size_t i = 0; i < values.size(); ++i)
      json += fmt::format("{}{}", i ? "," : "", values[i]);
    return json + "]}";
  };
  std::string head = "{\"inputs\":[" + tensor("x", rows, mix.width, x) + "," +
                     tensor("table", mix.tableRows, mix.tableColumns, mix.table) + "],\"parameters\":{";
  head += fmt::format("\"binary_data_output\":{}", isOneOf(2));
  if (!mix.function.empty())
    head += fmt::format(",\"function\":\"{}\"", mix.function);
  head += "}}";
  MadeRequest request{fmt::format("/v2/models/{}/infer", mix.model), head + binary, {}};
  if (!binary.empty())
    request.headers.emplace_back("inference-header-content-length", std::to_string(head.size()));
  return request;
}

MadeRequest RequestMaker::make() { return isOneOf(3) ? inference() : embedding(); }

} // namespace vx::fuzz
