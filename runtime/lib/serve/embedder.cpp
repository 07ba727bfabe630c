#include "vx/serve/embedder.hpp"

#include "embedding_model.h"
#include "failure.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>

namespace vx::serve {

// Calls that are not running, of one function: each thread takes one, or makes one where there is none.
class CallPool {
public:
  // Gives a call back, also where a run throws.
  class Lease {
  public:
    Lease(CallPool &pool, Call call) : pool(pool), call(std::move(call)) {}
    ~Lease() {
      std::lock_guard lock(pool.mutex);
      pool.idle.push_back(std::move(call));
    }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    Call *operator->() { return &call; }

  private:
    CallPool &pool;
    Call call;
  };

  Lease take(const Instance &instance, const vx_function_info &function) {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) {
        Call call = std::move(idle.back());
        idle.pop_back();
        return Lease(*this, std::move(call));
      }
    }
    return Lease(*this, Call(instance, function));
  }

private:
  std::mutex mutex;
  std::vector<Call> idle;
};

namespace {

template <typename Element>
Value makeInput(EmbeddingFunction::Input input, std::span<const Tokens *const> texts, size_t longest, int32_t padding,
                vx_element_type type) {
  std::vector<Element> elements(texts.size() * longest, input == EmbeddingFunction::Input::ids ? padding : 0);
  for (size_t row = 0; row < texts.size(); ++row) {
    Element *place = elements.data() + row * longest;
    const Tokens &text = *texts[row];
    if (input == EmbeddingFunction::Input::mask)
      std::fill_n(place, text.ids.size(), Element(1));
    else
      std::ranges::copy(input == EmbeddingFunction::Input::ids ? text.ids : text.typeIds, place);
  }
  const int64_t dims[] = {static_cast<int64_t>(texts.size()), static_cast<int64_t>(longest)};
  return Value::raw(type, dims, elements.data(), elements.size() * sizeof(Element));
}

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

struct Embedder::Implementation {
  Implementation(const Module &module, const InstanceOptions &options) : model(module), instance(module, options) {
    const nlohmann::json report = nlohmann::json::parse(instance.report(VX_REPORT_JSON));
    device = report.at("taken").at("device").get<std::string>();
  }

  const EmbeddingFunction &functionOf(const RunOptions &options) const {
    return model.info.scores ? model.scoring() : *model.find(options.pooling.value_or(model.info.pooling));
  }

  // What the text is called stands before what is wrong with it: "text 3: ".
  void check(const Tokens &text, const EmbeddingFunction &function, const auto &nameOf) const {
    if (text.ids.empty() || text.ids.size() > model.info.maxTokens)
      throw argumentError("{}expected 1 to {} tokens, got {}", nameOf(), model.info.maxTokens, text.ids.size());
    if (text.typeIds.size() != text.ids.size())
      throw argumentError("{}expected {} token types, one for each token, got {}", nameOf(), text.ids.size(),
                          text.typeIds.size());
    const auto checkRange = [&](const char *what, std::span<const int32_t> numbers, std::optional<int64_t> limit) {
      for (size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] < 0 || numbers[i] >= limit.value_or(INT64_MAX))
          throw argumentError("{}expected {} from 0 to {}, got {} at position {}", nameOf(), what,
                              limit.value_or(int64_t(INT32_MAX) + 1) - 1, numbers[i], i);
    };
    checkRange("tokens", text.ids, function.idLimit);
    if (model.hasTypes)
      checkRange("types of tokens", text.typeIds, function.typeLimit);
  }

  // The length of a batch, after all of it has been checked.
  size_t check(std::span<const Tokens *const> texts, const EmbeddingFunction &function) const {
    size_t longest = 0;
    for (size_t row = 0; row < texts.size(); ++row) {
      check(*texts[row], function, [row] { return fmt::format("text {}: ", row); });
      longest = std::max(longest, texts[row]->ids.size());
    }
    return longest;
  }

  Matrix run(std::span<const Tokens *const> texts, const RunOptions &options) const {
    const EmbeddingFunction &function = functionOf(options);
    if (texts.size() < 2 || function.apart.empty())
      return runTogether(texts, function, options);
    check(texts, function);
    Matrix result;
    for (size_t row = 0; row < texts.size(); ++row) {
      const Matrix part = runTogether(texts.subspan(row, 1), function, options);
      result.columns = part.columns;
      result.rows += part.rows;
      result.values.insert(result.values.end(), part.values.begin(), part.values.end());
    }
    return result;
  }

  Matrix runTogether(std::span<const Tokens *const> texts, const EmbeddingFunction &function,
                     const RunOptions &options) const {
    const bool isUnit = options.normalize.value_or(model.info.normalizes);
    Matrix result;
    result.columns = options.dimensions == 0 ? model.info.dimensions : options.dimensions;
    // What may depend on other rows may depend on padding.
    const size_t longest = std::max(check(texts, function), function.apart.empty() ? options.padTo : 0);
    if (texts.empty())
      return result;
    std::vector<Value> inputs;
    for (EmbeddingFunction::Input input : function.inputs)
      inputs.push_back(function.indexType == VX_I64 ? makeInput<int64_t>(input, texts, longest, model.padding, VX_I64)
                                                    : makeInput<int32_t>(input, texts, longest, model.padding, VX_I32));
    CallPool &pool =
        calls[model.info.scores ? calls.size() - 1 : static_cast<size_t>(options.pooling.value_or(model.info.pooling))];
    const std::vector<Value> outputs = pool.take(instance, *function.info)->run(inputs);
    // Vectors that are cut short are made of the plain ones, and scaled then.
    const bool isWhole = result.columns == model.info.dimensions;
    const std::span<const float> values = outputs[isUnit && isWhole ? function.unit : function.plain].data<float>();
    if (values.size() != texts.size() * model.info.dimensions)
      throw dataError("function '{}': expected {} elements for {} texts, got {}", function.info->name,
                      texts.size() * model.info.dimensions, texts.size(), values.size());
    result.rows = texts.size();
    result.values.reserve(result.rows * result.columns);
    for (size_t row = 0; row < result.rows; ++row) {
      const std::span<const float> source = values.subspan(row * model.info.dimensions, result.columns);
      const double length =
          isUnit && !isWhole ? std::sqrt(std::inner_product(source.begin(), source.end(), source.begin(), 0.0)) : 1;
      for (float value : source)
        result.values.push_back(static_cast<float>(value / std::max(length, 1e-12)));
    }
    return result;
  }

  const EmbeddingModel model;
  const Instance instance;
  std::string device;
  mutable std::array<CallPool, 4> calls; // by pooling, and of scores
};

Embedder::Embedder(const std::string &path, const InstanceOptions &options) : Embedder(Module(path), options) {}
Embedder::Embedder(const Module &module, const InstanceOptions &options)
    : implementation(std::make_unique<Implementation>(module, options)) {}
Embedder::~Embedder() = default;

void Embedder::check(const Module &module) { EmbeddingModel model(module); }

bool Embedder::isEmbedder(const Module &module) {
  return std::ranges::any_of(module.assets(),
                             [](const vx_asset_info &asset) { return asset.name == std::string_view(EmbeddingAsset); });
}

const EmbedderInfo &Embedder::info() const { return implementation->model.info; }
std::string Embedder::deviceReport(vx_report_format format) const { return implementation->instance.report(format); }
const std::string &Embedder::device() const { return implementation->device; }
const Instance &Embedder::instance() const { return implementation->instance; }

Tokens Embedder::tokenize(std::string_view text, const TokenizeOptions &options) const {
  return implementation->model.tokenize(text, options);
}

Tokens Embedder::tokenizePair(std::string_view query, std::string_view text, const TokenizeOptions &options) const {
  return implementation->model.tokenizePair(query, text, options);
}

float Embedder::scoreOf(float logit) const {
  if (info().scores != Activation::sigmoid)
    return logit;
  return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(logit))));
}

void Embedder::checkOptions(const RunOptions &options) const {
  const EmbedderInfo &about = info();
  if (about.scores && (options.pooling || options.normalize || options.dimensions > 1))
    throw argumentError("the model is a cross-encoder: expected no pooling, normalize or dimensions");
  if (options.pooling && !implementation->model.find(*options.pooling)) {
    std::string names;
    for (Pooling pooling : about.poolings)
      names += (names.empty() ? "" : ", ") + std::string(poolingName(pooling));
    throw argumentError("the model has no pooling '{}', it has: {}", poolingName(*options.pooling), names);
  }
  if (options.padTo > about.maxTokens)
    throw argumentError("expected texts that are padded to at most {} tokens, the model's limit, got {}",
                        about.maxTokens, options.padTo);
  if (options.dimensions == 0 || options.dimensions == about.dimensions)
    return;
  if (!about.canShorten)
    throw argumentError("expected {} dimensions, the model's vectors cannot be cut short, got {}", about.dimensions,
                        options.dimensions);
  if (options.dimensions > about.dimensions)
    throw argumentError("expected 1 to {} dimensions, got {}", about.dimensions, options.dimensions);
  if (!about.shorterDimensions.empty() && !std::ranges::count(about.shorterDimensions, options.dimensions))
    throw argumentError("expected {} dimensions or one of {}, got {}", about.dimensions,
                        fmt::join(about.shorterDimensions, ", "), options.dimensions);
}

void Embedder::checkTokens(const Tokens &text, const RunOptions &options) const {
  implementation->check(text, implementation->functionOf(options), [] { return ""; });
}

Matrix Embedder::run(std::span<const Tokens *const> texts, const RunOptions &options) const {
  checkOptions(options);
  return implementation->run(texts, options);
}

Matrix Embedder::run(std::span<const Tokens> texts, const RunOptions &options) const {
  std::vector<const Tokens *> pointers;
  for (const Tokens &text : texts)
    pointers.push_back(&text);
  return run(pointers, options);
}

Matrix Embedder::embed(std::span<const std::string> texts, const EmbedOptions &options,
                       EmbedStatistics *statistics) const {
  if (info().scores)
    throw argumentError("the model is a cross-encoder, which scores pairs of texts: expected a model of embeddings");
  checkOptions(options.run);
  EmbedStatistics counted;
  counted.texts = texts.size();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Tokens> tokens;
  tokens.reserve(texts.size());
  for (const std::string &text : texts)
    try {
      tokens.push_back(tokenize(text, options.tokenize));
      counted.truncated += tokens.back().isTruncated();
    } catch (const Error &error) {
      throw Error(error.kind(), fmt::format("text {}: {}", options.firstText + tokens.size(), error.what()));
    }
  counted.tokenizeSeconds = secondsSince(begin);

  // The longest first: a batch has texts of nearly one length, and what needs most memory comes at the beginning.
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, {},
                    [&](size_t text) { return std::pair(-static_cast<ptrdiff_t>(tokens[text].ids.size()), text); });
  const bool isApart = !implementation->functionOf(options.run).apart.empty();
  Matrix result;
  result.rows = texts.size();
  result.columns = options.run.dimensions == 0 ? info().dimensions : options.run.dimensions;
  result.values.resize(result.rows * result.columns);
  for (size_t first = 0; first < order.size();) {
    const size_t longest = tokens[order[first]].ids.size();
    const size_t fitting = isApart ? 1 : std::max<size_t>(options.batchTokens / longest, 1);
    const size_t count = std::min(fitting, order.size() - first);
    std::vector<const Tokens *> batch;
    for (size_t text : std::span(order).subspan(first, count)) {
      batch.push_back(&tokens[text]);
      counted.tokens += tokens[text].ids.size();
      counted.padding += longest - tokens[text].ids.size();
    }
    const auto start = std::chrono::steady_clock::now();
    const Matrix part = implementation->run(batch, options.run);
    counted.runSeconds += secondsSince(start);
    for (size_t row = 0; row < count; ++row)
      std::ranges::copy(part.row(row),
                        result.values.begin() + static_cast<ptrdiff_t>(order[first + row] * result.columns));
    first += count;
    ++counted.batches;
    if (options.progress)
      options.progress(first, order.size());
  }
  if (statistics)
    *statistics = counted;
  return result;
}

} // namespace vx::serve
