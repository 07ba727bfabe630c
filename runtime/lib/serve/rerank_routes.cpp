// Scores of texts for a query, in the forms of text-embeddings-inference (TEI) and of Cohere.
#include "json_request.h"
#include "run_failure.h"
#include "service.h"

#include "vx/base/json_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vx::serve {
namespace {

using Json = nlohmann::json;

struct RerankRequest {
  bool isCohere = false; // `documents`; else TEI's `texts`
  bool givesTexts = false, isRaw = false;
  size_t top = 0; // 0: all
  std::vector<std::string> texts;
  std::vector<Tokens> pairs;
  size_t tokens = 0;
};

// Cohere's documents are texts, or objects with a text.
std::string readRankedText(const Json &value, const std::string &field, bool mayBeObject) {
  const bool isObject = mayBeObject && value.is_object();
  if (isObject)
    checkMembers(value, {"text"}, field);
  if (!isObject && !value.is_string())
    throw serviceError(ErrorCode::invalid_value, "'{}': expected {}, got {}", field,
                       mayBeObject ? "a string or an object with 'text'" : "a string", jsonKind(value))
        .about(field);
  std::string text = isObject ? stringMember(value, "text", field) : value.get<std::string>();
  if (text.empty())
    throw serviceError(ErrorCode::invalid_value, "'{}' is empty", field).about(field);
  return text;
}

Tokens readPair(const std::string &query, const std::string &text, const std::string &field, const Embedder &embedder,
                bool truncates) {
  Tokens tokens;
  try {
    tokens = embedder.tokenizePair(query, text);
    if (truncates || !tokens.isTruncated())
      embedder.checkTokens(tokens);
  } catch (const Error &error) {
    throw serviceError(ErrorCode::invalid_value, "'{}': {}", field, error.what()).about(field);
  }
  if (!truncates && tokens.isTruncated())
    throw serviceError(ErrorCode::context_length_exceeded,
                       "'{}': the model takes {} tokens of a query and a text, got {}{}", field,
                       embedder.info().maxTokens, tokens.whole, tokens.isCounted ? "" : " or more")
        .about(field)
        .expected(embedder.info().maxTokens, tokens.whole);
  return tokens;
}

RerankRequest readRerank(const Json &document, const Embedder &embedder) {
  RerankRequest asked;
  const Json *texts = findMember(document, "texts"), *documents = findMember(document, "documents");
  if (texts && documents)
    throw ServiceError(ErrorCode::invalid_value, "expected 'texts' or 'documents', got both").about("texts");
  if (!texts && !documents)
    throw ServiceError(ErrorCode::invalid_value, "'texts' is missing: expected it or 'documents'").about("texts");
  asked.isCohere = documents != nullptr;
  const char *name = asked.isCohere ? "documents" : "texts";
  const Json &list = asked.isCohere ? *documents : *texts;
  if (!list.is_array())
    throw serviceError(ErrorCode::invalid_value, "'{}': expected a list, got {}", name, jsonKind(list))
        .about(name)
        .expected("a list", jsonKind(list));
  if (list.empty() || list.size() > mostTexts)
    throw serviceError(ErrorCode::invalid_value, "'{}': expected 1 to {} texts, got {}", name, mostTexts, list.size())
        .about(name)
        .expected(fmt::format("1 to {} texts", mostTexts), list.size());
  const std::string query = stringMember(document, "query");
  if (query.empty())
    throw ServiceError(ErrorCode::invalid_value, "'query' is empty").about("query");
  asked.givesTexts = boolMember(document, "return_documents", false) || boolMember(document, "return_text", false);
  asked.isRaw = boolMember(document, "raw_scores", false);
  asked.top = sizeMember(document, "top_n", 1, INT32_MAX, 0);
  // As users of each form know it.
  const bool truncates = boolMember(document, "truncate", asked.isCohere);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string field = fmt::format("{}[{}]", name, i);
    asked.texts.push_back(readRankedText(list[i], field, asked.isCohere));
    asked.pairs.push_back(readPair(query, asked.texts.back(), field, embedder, truncates));
    asked.tokens += asked.pairs.back().ids.size();
  }
  if (!asked.givesTexts)
    asked.texts.clear();
  return asked;
}

// The best first; of equal ones the first.
std::vector<size_t> orderScores(std::span<const float> logits, size_t top) {
  std::vector<size_t> numbers(logits.size());
  std::iota(numbers.begin(), numbers.end(), size_t(0));
  std::sort(numbers.begin(), numbers.end(),
            [&](size_t a, size_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); });
  if (top > 0 && top < numbers.size())
    numbers.resize(top);
  return numbers;
}

std::string writeScores(const RerankRequest &asked, std::span<const float> logits, const Embedder &embedder,
                        const std::string &model, const std::string &id) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (size_t i : orderScores(logits, asked.top)) {
    const float score = asked.isRaw ? logits[i] : embedder.scoreOf(logits[i]);
    nlohmann::ordered_json result = {{"index", i}, {asked.isCohere ? "relevance_score" : "score", score}};
    if (asked.givesTexts && asked.isCohere)
      result["document"] = {{"text", asked.texts[i]}};
    else if (asked.givesTexts)
      result["text"] = asked.texts[i];
    results.push_back(std::move(result));
  }
  if (!asked.isCohere)
    return jsonText(results);
  return jsonText(nlohmann::ordered_json{{"id", id},
                                         {"model", model},
                                         {"results", std::move(results)},
                                         {"usage", {{"prompt_tokens", asked.tokens}, {"total_tokens", asked.tokens}}}});
}

void checkFinite(std::span<const float> logits, const std::string &model) {
  for (size_t i = 0; i < logits.size(); ++i)
    if (!std::isfinite(logits[i]))
      throw serviceError(ErrorCode::internal, "model '{}': the score of text {} is {}", model, i, logits[i]);
}

} // namespace

// TEI's clients name no model: it has one.
std::string Service::onlyReranker() const {
  std::vector<std::string> names;
  for (const ModelTable::Entry &entry : models.entries())
    if (const std::shared_ptr<Embedder> embedder = entry.model ? entry.model->embedder() : nullptr;
        embedder && embedder->info().scores)
      names.push_back(entry.settings.name);
  if (names.size() == 1)
    return names[0];
  throw serviceError(ErrorCode::invalid_value, "'model' is missing: expected it, or one loaded cross-encoder, got {}",
                     names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '")))
      .about("model");
}

void Service::rerank(const RouteRequest &request) {
  const Json document = parseJson(request.http().body);
  if (!document.is_object())
    throw serviceError(ErrorCode::invalid_value, "expected an object, got {}", jsonKind(document));
  checkMembers(document, {"model", "query", "texts", "documents", "return_text", "return_documents", "raw_scores",
                          "top_n", "truncate"});
  const std::shared_ptr<ServedModel> model =
      findModel(request, findMember(document, "model") ? stringMember(document, "model") : onlyReranker());
  const std::string name = model->settings.name;
  const std::shared_ptr<Embedder> embedder = model->embedder();
  if (!embedder || !embedder->info().scores)
    throw serviceError(ErrorCode::invalid_value, "model '{}': expected a cross-encoder, got a model of {}", name,
                       embedder ? "embeddings" : "tensors")
        .about("model");
  const auto asked = std::make_shared<RerankRequest>(readRerank(document, *embedder));
  gatekeeper()->countTokens(request.notes(), asked->tokens);
  size_t bytes = asked->pairs.size() * 64;
  for (const std::string &text : asked->texts)
    bytes += text.size();
  request.exchange->reserveAnswer(bytes);

  const auto fail = [this, exchange = request.exchange, name](const ServiceError &error) {
    replyFailure(*exchange, name, error);
  };
  auto done = [this, request, fail, name, asked, embedder](Matrix result) {
    metrics.countScores(name, result.rows, asked->tokens);
    const auto matrix = std::make_shared<const Matrix>(std::move(result));
    const auto reply = [this, request, fail, name, asked, embedder, matrix] {
      try {
        checkFinite(matrix->values, name);
        replyJson(request, writeScores(*asked, matrix->values, *embedder, name, request.http().id));
      } catch (const ServiceError &error) {
        request.exchange->reply(refuse(request.http(), error));
      } catch (...) {
        fail(currentFailure());
      }
    };
    if (!workers.post(reply))
      reply();
  };
  const auto job = std::make_shared<EmbedJob>(std::move(asked->pairs), RunOptions(), std::move(done), fail);
  submit(request, job, model->embedBatcher());
}

} // namespace vx::serve
