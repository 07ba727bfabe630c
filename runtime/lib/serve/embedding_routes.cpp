// Embeddings, as OpenAI's interface has them and as ours does.
#include "json_request.h"
#include "run_failure.h"
#include "service.h"

#include "vx/base/base64.h"
#include "vx/base/json_text.h"

#include <cmath>

namespace vx::serve {
namespace {

using Json = nlohmann::json;

void appendRow(std::string &json, std::span<const float> row) {
  json += '[';
  for (size_t i = 0; i < row.size(); ++i)
    fmt::format_to(std::back_inserter(json), "{}{}", i ? "," : "", row[i]);
  json += ']';
}

Tokens givenTokens(const Json &list, const std::string &field) {
  Tokens tokens;
  for (const Json &id : list) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX)
      throw serviceError(ErrorCode::invalid_value, "'{}[{}]': expected the number of a token, got {}", field,
                         tokens.ids.size(), id.is_number() ? jsonText(id) : std::string(jsonKind(id)))
          .about(field);
    tokens.ids.push_back(id.get<int32_t>());
  }
  tokens.typeIds.assign(tokens.ids.size(), 0);
  tokens.whole = tokens.ids.size();
  return tokens;
}

// What a request asks for, tokenised.
struct EmbeddingRequest {
  std::vector<Tokens> texts;
  RunOptions run;
  size_t tokens = 0, truncated = 0;
};

Tokens readText(const Json &text, const std::string &field, const Embedder &embedder, const TokenizeOptions &options,
                const RunOptions &run, bool truncates) {
  if (!text.is_string() && !text.is_array())
    throw serviceError(ErrorCode::invalid_value, "'{}': expected a string or a list of tokens, got {}", field,
                       jsonKind(text))
        .about(field);
  if (text.empty() || (text.is_string() && text.get_ref<const std::string &>().empty()))
    throw serviceError(ErrorCode::invalid_value, "'{}' is empty", field).about(field);
  Tokens tokens;
  try {
    tokens =
        text.is_array() ? givenTokens(text, field) : embedder.tokenize(text.get_ref<const std::string &>(), options);
  } catch (const Error &error) {
    throw serviceError(ErrorCode::invalid_value, "'{}': {}", field, error.what()).about(field);
  }
  const size_t most = embedder.info().maxTokens;
  if (!truncates && (tokens.isTruncated() || tokens.ids.size() > most))
    throw serviceError(ErrorCode::context_length_exceeded, "'{}': the model takes {} tokens, got {}{}", field, most,
                       tokens.whole, tokens.isCounted ? "" : " or more")
        .about(field)
        .expected(most, tokens.whole);
  if (tokens.ids.size() > most) {
    tokens.ids.resize(most);
    tokens.typeIds.resize(most);
  }
  try {
    embedder.checkTokens(tokens, run);
  } catch (const Error &error) {
    throw serviceError(ErrorCode::invalid_value, "'{}': {}", field, error.what()).about(field);
  }
  return tokens;
}

EmbeddingRequest readRequest(const Json &document, const Embedder &embedder) {
  EmbeddingRequest asked;
  const EmbedderInfo &info = embedder.info();
  if (findMember(document, "pooling")) {
    const std::string name = stringMember(document, "pooling");
    asked.run.pooling = parsePooling(name);
    if (!asked.run.pooling)
      throw serviceError(ErrorCode::invalid_value, "'pooling': expected 'cls', 'mean' or 'last', got '{}'", name)
          .about("pooling");
  }
  if (findMember(document, "normalize"))
    asked.run.normalize = boolMember(document, "normalize", true);
  asked.run.dimensions = sizeMember(document, "dimensions", 1, info.dimensions, 0);
  if (asked.run.dimensions == info.dimensions)
    asked.run.dimensions = 0;
  try {
    embedder.checkOptions(asked.run);
  } catch (const Error &error) {
    throw ServiceError(ErrorCode::invalid_value, error.what());
  }
  const bool truncates = boolMember(document, "truncate", false);
  TokenizeOptions options;
  if (findMember(document, "prompt_name"))
    options.promptName = stringMember(document, "prompt_name");
  const Json *input = findMember(document, "input");
  if (!input)
    throw ServiceError(ErrorCode::invalid_value, "'input' is missing").about("input");
  // One text, one list of tokens, or a list of either.
  const bool isList = input->is_array() && (input->empty() || !(*input)[0].is_number());
  if (!isList) {
    asked.texts.push_back(readText(*input, "input", embedder, options, asked.run, truncates));
  } else if (input->empty() || input->size() > mostTexts) {
    throw serviceError(ErrorCode::invalid_value, "'input': expected 1 to {} texts, got {}", mostTexts, input->size())
        .about("input")
        .expected(fmt::format("1 to {} texts", mostTexts), input->size());
  } else {
    for (size_t i = 0; i < input->size(); ++i)
      asked.texts.push_back(
          readText((*input)[i], fmt::format("input[{}]", i), embedder, options, asked.run, truncates));
  }
  for (const Tokens &text : asked.texts) {
    asked.tokens += text.ids.size();
    asked.truncated += text.isTruncated();
  }
  return asked;
}

std::string writeOpenAi(const Matrix &matrix, const std::string &model, size_t tokens, bool isBase64) {
  std::string json = R"({"object":"list","data":[)";
  for (size_t i = 0; i < matrix.rows; ++i) {
    fmt::format_to(std::back_inserter(json), R"({}{{"object":"embedding","index":{},"embedding":)", i ? "," : "", i);
    if (isBase64)
      json += '"' + encodeBase64(std::as_bytes(matrix.row(i))) + '"';
    else
      appendRow(json, matrix.row(i));
    json += '}';
  }
  return json + fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})", jsonText(Json(model)),
                            tokens, tokens);
}

std::string writeOwn(const Matrix &matrix, const std::string &model, size_t tokens, size_t truncated) {
  std::string json =
      fmt::format(R"({{"model":{},"dimensions":{},"embeddings":[)", jsonText(Json(model)), matrix.columns);
  for (size_t i = 0; i < matrix.rows; ++i) {
    if (i)
      json += ',';
    appendRow(json, matrix.row(i));
  }
  return json + fmt::format(R"(],"usage":{{"texts":{},"tokens":{},"truncated":{}}}}})", matrix.rows, tokens, truncated);
}

// JSON has no number for it, and nobody can compare it.
void checkFinite(const Matrix &matrix, const std::string &model) {
  for (size_t i = 0; i < matrix.values.size(); ++i)
    if (!std::isfinite(matrix.values[i]))
      throw serviceError(ErrorCode::internal, "model '{}': the embedding of text {} has {} in it", model,
                         i / matrix.columns, matrix.values[i]);
}

} // namespace

void Service::embedOpenAi(const RouteRequest &request) { embedAs(request, true); }

void Service::embed(const RouteRequest &request) { embedAs(request, false); }

void Service::embedAs(const RouteRequest &request, bool isOpenAi) {
  const Json document = parseJson(request.http().body);
  if (!document.is_object())
    throw serviceError(ErrorCode::invalid_value, "expected an object, got {}", jsonKind(document));
  if (isOpenAi)
    checkMembers(document, {"model", "input", "encoding_format", "dimensions", "user", "pooling", "normalize",
                            "truncate", "prompt_name"});
  else
    checkMembers(document, {"model", "input", "dimensions", "pooling", "normalize", "truncate", "prompt_name"});
  const std::string format =
      isOpenAi && findMember(document, "encoding_format") ? stringMember(document, "encoding_format") : "float";
  if (format != "float" && format != "base64")
    throw serviceError(ErrorCode::invalid_value, "'encoding_format': expected 'float' or 'base64', got '{}'", format)
        .about("encoding_format");
  const std::shared_ptr<ServedModel> model = findModel(request, stringMember(document, "model"));
  const std::shared_ptr<Embedder> embedder = model->embedder();
  if (!embedder)
    throw serviceError(ErrorCode::invalid_value, "model '{}' is none of embeddings", model->settings.name)
        .about("model");
  if (embedder->info().scores)
    throw serviceError(ErrorCode::invalid_value,
                       "model '{}' is a cross-encoder: expected a model of embeddings; /v1/rerank scores texts",
                       model->settings.name)
        .about("model");
  EmbeddingRequest asked = readRequest(document, *embedder);
  gatekeeper()->countTokens(request.notes(), asked.tokens);
  request.exchange->reserveAnswer(asked.texts.size() * embedder->info().dimensions * 16);

  const auto fail = [this, exchange = request.exchange, name = model->settings.name](const ServiceError &error) {
    replyFailure(*exchange, name, error);
  };
  auto done = [this, request, fail, isOpenAi, format, name = model->settings.name, tokens = asked.tokens,
               truncated = asked.truncated](Matrix result) {
    metrics.countEmbeddings(name, result.rows, tokens);
    const auto matrix = std::make_shared<const Matrix>(std::move(result));
    const auto write = [this, request, fail, isOpenAi, format, name, tokens, truncated, matrix] {
      try {
        checkFinite(*matrix, name);
        replyJson(request, isOpenAi ? writeOpenAi(*matrix, name, tokens, format == "base64")
                                    : writeOwn(*matrix, name, tokens, truncated));
      } catch (const ServiceError &error) {
        request.exchange->reply(refuse(request.http(), error));
      } catch (...) {
        fail(currentFailure());
      }
    };
    if (!workers.post(write))
      write();
  };
  const auto job = std::make_shared<EmbedJob>(std::move(asked.texts), asked.run, std::move(done), fail);
  submit(request, job, model->embedBatcher());
}

} // namespace vx::serve
