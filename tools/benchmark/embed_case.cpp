#include "embed_case.h"

#include "command_line.h"

#include "vx/base/base64.h"
#include "vx/base/json_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vx::tools {

namespace serve = vx::serve;
using nlohmann::json;

// How far an answer may be from the vector of its text alone, as a part of that vector's length.
static constexpr double VectorTolerance = 1e-5;

// Different texts that each client may come to; a number that all of them share evenly.
static constexpr size_t TextsOfClient = 4;

namespace {

std::vector<float> decodeVector(std::string_view text) {
  size_t end = 0;
  const std::string bytes = decodeBase64(text, end);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// The vectors of an answer of /v1/embeddings in the order of their texts; a wrong one is empty.
std::vector<std::vector<float>> vectorsOf(const json &document, size_t count) {
  std::vector<std::vector<float>> vectors(count);
  const auto data = document.find("data");
  if (data == document.end() || !data->is_array())
    return vectors;
  for (const json &entry : *data) {
    const auto index = entry.find("index"), embedding = entry.find("embedding");
    if (index == entry.end() || embedding == entry.end() || !index->is_number_unsigned() ||
        index->get<size_t>() >= count)
      continue;
    std::vector<float> &vector = vectors[index->get<size_t>()];
    if (embedding->is_string())
      vector = decodeVector(embedding->get_ref<const std::string &>());
    else if (embedding->is_array() &&
             std::ranges::all_of(*embedding, [](const json &number) { return number.is_number(); }))
      vector = embedding->get<std::vector<float>>();
  }
  return vectors;
}

uint64_t tokensOf(const json &document) {
  const auto usage = document.find("usage");
  return usage != document.end() && usage->is_object() ? usage->value("prompt_tokens", uint64_t(0)) : 0;
}

// What is wrong with vectors beside those of the same texts alone; empty: nothing.
std::string compareVectors(const std::vector<std::vector<float>> &got, std::span<const std::vector<float>> want) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i].size() != want[i].size())
      return fmt::format("text {}: expected {} dimensions, got {}", i, want[i].size(), got[i].size());
    double square = 0, apart = 0;
    for (size_t j = 0; j < want[i].size(); ++j) {
      if (!std::isfinite(got[i][j]))
        return fmt::format("text {}: dimension {} is {}", i, j, got[i][j]);
      square += double(want[i][j]) * want[i][j];
      apart = std::max(apart, std::fabs(double(got[i][j]) - want[i][j]));
    }
    if (const double most = VectorTolerance * std::sqrt(square); apart > most)
      return fmt::format(
          "text {}: expected a vector that is {:.2g} from that of the text alone at the most, got one that "
          "is {:.2g} from it",
          i, most, apart);
  }
  return "";
}

// A server's model of embeddings.
class EmbeddingServer {
public:
  EmbeddingServer(const EmbedRequest &options, const serve::Embedder *engine)
      : options(options), engine(engine), connection(options.load.endpoint()) {}

  std::string request(std::span<const std::string> texts) const {
    json body = {{"model", options.model}, {"encoding_format", options.encoding}};
    if (texts.size() == 1)
      body["input"] = texts[0];
    else
      body["input"] = std::vector<std::string>(texts.begin(), texts.end());
    return connection.format("POST", "/v1/embeddings", vx::jsonText(body), {{"Content-Type", "application/json"}});
  }

  CountTokens counter() {
    if (engine)
      return countTokensOf(*engine, /*usePrompt=*/true);
    return [this](std::span<const std::string> texts) { return tokensOf(askJson(connection, request(texts))); };
  }

  // Of texts by themselves: the engine's, or the server's while nobody else asks.
  std::vector<std::vector<float>> alone(std::span<const std::string> texts) {
    std::vector<std::vector<float>> vectors;
    for (const std::string &text : texts) {
      if (engine) {
        serve::EmbedOptions embed;
        const serve::Matrix matrix = engine->embed({&text, 1}, embed);
        vectors.push_back(matrix.values);
      } else {
        vectors.push_back(vectorsOf(askJson(connection, request({&text, 1})), 1)[0]);
      }
      if (vectors.back().empty())
        throw workError("the server's answer has no vector for a text by itself");
    }
    return vectors;
  }

private:
  const EmbedRequest &options;
  const serve::Embedder *engine;
  HttpConnection connection;
};

} // namespace

ServerCase makeEmbedCase(const EmbedRequest &options, const EmbeddingRequest *engine, size_t length, size_t batch) {
  EmbeddingServer server(options, engine ? engine->embedder.get() : nullptr);
  ServerCase result;
  result.model = options.model;
  result.path = "/v1/embeddings";
  result.dims = {{"batch", static_cast<int64_t>(batch)}, {"tokens", static_cast<int64_t>(length)}};
  const size_t count = TextsOfClient * options.load.clients * batch;
  showProgress(fmt::format("{} texts of {} tokens", count, length));
  const std::vector<std::string> texts = makeTexts(server.counter(), count, length);
  auto alone = std::make_shared<const std::vector<std::vector<float>>>(server.alone(texts));
  for (size_t begin = 0; begin < count; begin += batch)
    result.requests.push_back({server.request(std::span(texts).subspan(begin, batch)), batch, batch * length});
  result.check = [alone, batch, length](size_t number, const HttpAnswer &answer) -> std::string {
    const json document = json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
    if (!document.is_object())
      return fmt::format("expected an object of JSON, got '{}'", answer.body.substr(0, 100));
    if (const uint64_t tokens = tokensOf(document); tokens != batch * length)
      return fmt::format("expected a usage of {} tokens, got {}", batch * length, tokens);
    return compareVectors(vectorsOf(document, batch), std::span(*alone).subspan(number * batch, batch));
  };
  if (engine)
    result.makeEngine = [base = *engine, texts, length](size_t rows) {
      EmbeddingRequest request = base;
      request.length = length;
      request.usePrompt = true;
      for (size_t i = 0; i < rows; ++i)
        request.texts.push_back(texts[i % texts.size()]);
      return makeEmbeddingContestant(request);
    };
  return result;
}

} // namespace vx::tools
