#include "vx/llm/generator.hpp"

#include "errors.h"
#include "generator_state.h"
#include "memory.h"
#include "model_module.h"

#include "vx/base/utf8.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace vx::llm {

namespace {

constexpr size_t DefaultContext = 4096;
// Tokens of a prompt in one call: a prompt can be cancelled between two calls.
constexpr size_t PromptChunk = 512;

size_t roomOf(const ModelInfo &info, size_t context) {
  if (context > info.context)
    throw argumentError("the context is {} tokens, the model takes {} at most", context, info.context);
  return context ? context : std::min(DefaultContext, info.context);
}

text::Tokenizer readWords(const Module &module, const ModelInfo &info) {
  text::Tokenizer words = readTokenizer(module);
  if (words.vocabulary_size() > info.vocabulary)
    throw moduleError("the tokenizer has {} tokens, but the model's embedding has {} rows", words.vocabulary_size(),
                      info.vocabulary);
  return words;
}

InstanceOptions withContext(InstanceOptions options, size_t room, size_t pages) {
  options.symbols = {{"context", static_cast<int64_t>(room)}, {"pages", static_cast<int64_t>(pages)}};
  return options;
}

Value listOf(std::span<const int64_t> numbers) {
  const int64_t dims[] = {static_cast<int64_t>(numbers.size())};
  return Value::tensor<int64_t>(std::span<const int64_t>(dims), numbers);
}

// ln(e^logits[token] / the sum of e^logits)
double logProbability(std::span<const float> logits, int32_t token) {
  const float largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(logit - largest);
  return static_cast<double>(logits[static_cast<size_t>(token)]) - largest - std::log(sum);
}

// The states of tokens, `width` elements each, as one vector of length 1.
std::vector<float> pool(std::span<const float> states, size_t width, Pooling pooling) {
  const size_t count = states.size() / width;
  std::vector<double> sums(width);
  for (size_t token = pooling == Pooling::last ? count - 1 : 0; token < count; ++token)
    for (size_t i = 0; i < width; ++i)
      sums[i] += states[token * width + i];
  double squares = 0;
  for (const double sum : sums)
    squares += sum * sum;
  std::vector<float> vector(width);
  for (size_t i = 0; i < width && squares > 0; ++i)
    vector[i] = static_cast<float>(sums[i] / std::sqrt(squares));
  return vector;
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

Generator::Implementation::Implementation(const Module &module, InstanceOptions options, size_t context)
    : module(module), info(readModelInfo(module)), words(readWords(module, info)), room(roomOf(info, context)),
      pagePlaces(readPagePlaces(module)),
      placed(placeModel(module, withContext(std::move(options), room, pagesFor(room)),
                        {room, pagesFor(room), pagePlaces, PromptChunk})),
      extend(placed, findExtend(module)), decode(placed, findDecode(module)) {
  try {
    chat.emplace(info, words);
  } catch (const Error &error) {
    noChat = error;
  }
}

size_t Generator::Implementation::pagesFor(size_t tokens) const { return (tokens + pagePlaces - 1) / pagePlaces; }

std::vector<float> Generator::Implementation::run(Call &call, std::span<const int32_t> tokens) {
  const auto count = static_cast<int64_t>(tokens.size()), after = static_cast<int64_t>(cached.size()) + count;
  const std::vector<int64_t> ids(tokens.begin(), tokens.end());
  // The one sequence has the pages in their order.
  std::vector<int64_t> pages(pagesFor(static_cast<size_t>(after)));
  std::iota(pages.begin(), pages.end(), 0);
  const int64_t tableDims[] = {1, static_cast<int64_t>(pages.size())}, lengths[] = {after};
  std::vector<Value> inputs = {listOf(ids),
                               Value::tensor<int64_t>(std::span<const int64_t>(tableDims), std::span(pages))};
  if (&call == &extend) {
    const int64_t starts[] = {0, count}, rows[] = {count - 1};
    inputs.insert(inputs.end(), {listOf(starts), listOf(lengths), listOf(rows)});
  } else {
    inputs.push_back(listOf(lengths));
  }
  const std::vector<Value> results = call.run(inputs);
  const std::span<const float> logits = results[0].data<float>();
  if (logits.size() != info.vocabulary)
    throw moduleError("the model gives {} logits, its settings say {}", logits.size(), info.vocabulary);
  cached.insert(cached.end(), tokens.begin(), tokens.end());
  return {logits.begin(), logits.end()};
}

std::vector<float> Generator::Implementation::compute(std::span<const int32_t> tokens,
                                                      const std::function<bool()> &isCancelled) {
  if (tokens.size() == 1)
    return isCancelled && isCancelled() ? std::vector<float>() : run(decode, tokens);
  std::vector<float> logits;
  for (size_t at = 0; at < tokens.size(); at += PromptChunk) {
    if (isCancelled && isCancelled())
      return {};
    logits = run(extend, tokens.subspan(at, std::min(PromptChunk, tokens.size() - at)));
  }
  return logits;
}

void Generator::Implementation::checkTokens(const char *function, std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens)
    if (token < 0 || static_cast<size_t>(token) >= info.vocabulary)
      throw argumentError("{}: expected tokens from 0 to {}, got {}", function, info.vocabulary - 1, token);
}

void Generator::Implementation::clear() {
  ++answers;
  cached.clear();
}

std::vector<float> Generator::Implementation::append(std::span<const int32_t> tokens) {
  if (tokens.empty() || tokens.size() > room - cached.size())
    throw argumentError("append: expected 1 to {} tokens, the room that is left of {}, got {}", room - cached.size(),
                        room, tokens.size());
  checkTokens("append", tokens);
  ++answers;
  return compute(tokens);
}

std::vector<double> Generator::Implementation::score(std::span<const int32_t> tokens, size_t first) {
  if (first == 0 || first > tokens.size())
    throw argumentError("score: expected a first token from 1 to {}, got {}", tokens.size(), first);
  if (tokens.size() > room)
    throw argumentError("score: expected at most {} tokens, the context, got {}", room, tokens.size());
  checkTokens("score", tokens);
  std::vector<double> scores;
  if (first == tokens.size())
    return scores;
  if (!prefill)
    prefill.emplace(placed, findPrefill(module));
  // Nothing follows the last token, so it is not computed.
  const std::vector<int64_t> ids(tokens.begin(), tokens.end() - 1);
  const int64_t dims[] = {1, static_cast<int64_t>(ids.size())};
  const std::vector<Value> results =
      prefill->run({Value::tensor<int64_t>(std::span<const int64_t>(dims), std::span(ids))});
  const std::span<const float> logits = results[0].data<float>();
  if (logits.size() != ids.size() * info.vocabulary)
    throw moduleError("the model gives {} logits for {} tokens, its settings say {} for each", logits.size(),
                      ids.size(), info.vocabulary);
  for (size_t i = first; i < tokens.size(); ++i)
    scores.push_back(logProbability(logits.subspan((i - 1) * info.vocabulary, info.vocabulary), tokens[i]));
  return scores;
}

std::vector<float> Generator::Implementation::embed(std::span<const int32_t> tokens, Pooling pooling) {
  if (tokens.empty() || tokens.size() > room)
    throw argumentError("embed: expected 1 to {} tokens, the context, got {}", room, tokens.size());
  checkTokens("embed", tokens);
  if (!states)
    states.emplace(placed, findEmbed(module));
  const std::vector<int64_t> ids(tokens.begin(), tokens.end());
  const int64_t dims[] = {1, static_cast<int64_t>(ids.size())};
  const std::vector<Value> results =
      states->run({Value::tensor<int64_t>(std::span<const int64_t>(dims), std::span(ids))});
  const std::span<const float> vectors = results[0].data<float>();
  if (vectors.size() != ids.size() * info.width)
    throw moduleError("the model gives {} elements for {} tokens, its function 'embed' says {} for each",
                      vectors.size(), ids.size(), info.width);
  return pooling == Pooling::none ? std::vector<float>(vectors.begin(), vectors.end())
                                  : pool(vectors, info.width, pooling);
}

std::vector<int32_t> Generator::Implementation::encode(std::string_view text) const {
  if (const size_t valid = wellFormedBytes(text); valid < text.size())
    throw argumentError("the prompt is no UTF-8: expected a character, got the byte 0x{:02x} at offset {}",
                        static_cast<uint8_t>(text[valid]), valid);
  return withErrors([&] { return words.encode(text).ids; });
}

bool Generator::isLanguageModel(const Module &module) { return hasSettings(module); }
ModelInfo Generator::infoOf(const Module &module) { return readModelInfo(module); }

Generator::Generator(const Module &module, InstanceOptions options, size_t context)
    : implementation(std::make_shared<Implementation>(module, std::move(options), context)) {}
Generator::Generator(const std::string &path, InstanceOptions options, size_t context)
    : Generator(Module(path), std::move(options), context) {}
Generator::Generator(Generator &&other) noexcept = default;
Generator &Generator::operator=(Generator &&other) noexcept = default;
Generator::~Generator() = default;

const ModelInfo &Generator::info() const { return implementation->info; }
size_t Generator::context() const { return implementation->room; }
const Instance &Generator::instance() const { return implementation->placed; }

std::vector<int32_t> Generator::encode(std::string_view text) const { return implementation->encode(text); }

void Generator::checkChat() const {
  if (implementation->noChat)
    throw Error(*implementation->noChat);
}

std::vector<int32_t> Generator::encode(std::span<const Message> conversation) const {
  checkChat();
  return withErrors([&] { return implementation->chat->encode(conversation); });
}

std::string Generator::decode(std::span<const int32_t> tokens) const { return implementation->words.decode(tokens); }

Answer Generator::generate(std::string_view prompt, const GenerateOptions &options) {
  return generate(encode(prompt), options);
}

Answer Generator::generate(std::span<const int32_t> prompt, const GenerateOptions &options) {
  Generation generation = start(prompt, options);
  while (std::optional<std::string> piece = generation.next())
    if (!piece->empty() && options.onText)
      options.onText(*piece);
  return generation.answer();
}

Answer Generator::chat(std::span<const Message> conversation, const GenerateOptions &options) {
  return generate(encode(conversation), options);
}

Generation Generator::start(std::span<const int32_t> prompt, const GenerateOptions &options) {
  const size_t room = implementation->room;
  if (prompt.empty())
    throw argumentError("the prompt has no tokens, expected at least 1");
  if (prompt.size() >= room)
    throw argumentError("the prompt has {} tokens, but the context has room for {} with the answer: expected a shorter "
                        "prompt or a larger context; the model takes up to {}",
                        prompt.size(), room, implementation->info.context);
  implementation->checkTokens("the prompt", prompt);
  return Generation(
      withErrors([&] { return std::make_unique<Generation::Implementation>(implementation, prompt, options); }));
}

void Generator::clear() { implementation->clear(); }
std::vector<float> Generator::append(std::span<const int32_t> tokens) { return implementation->append(tokens); }
std::vector<double> Generator::score(std::span<const int32_t> tokens, size_t first) {
  return implementation->score(tokens, first);
}
std::vector<float> Generator::embed(std::string_view text, Pooling pooling) { return embed(encode(text), pooling); }
std::vector<float> Generator::embed(std::span<const int32_t> tokens, Pooling pooling) {
  return implementation->embed(tokens, pooling);
}

Generation::Implementation::Implementation(std::shared_ptr<Generator::Implementation> given,
                                           std::span<const int32_t> prompt, const GenerateOptions &options)
    : model(std::move(given)), prompt(prompt.begin(), prompt.end()), askCancelled(options.isCancelled),
      most(std::min(options.maxTokens ? options.maxTokens : model->room, model->room - prompt.size())),
      sampler(options.sampling), stops(options.stop), stream(model->words), number(++model->answers) {
  answer.promptTokens = prompt.size();
}

bool Generation::Implementation::isCancelled() {
  if (isCancelledByUser.load(std::memory_order_relaxed) || (askCancelled && askCancelled()))
    answer.finish = FinishReason::cancelled;
  return answer.finish == FinishReason::cancelled;
}

std::optional<std::string> Generation::Implementation::next() {
  if (isDone)
    return std::nullopt;
  if (number != model->answers)
    throw argumentError("the model has started another answer, which ends this one");
  std::vector<int32_t> &cached = model->cached;
  std::vector<float> logits;
  auto start = std::chrono::steady_clock::now();
  if (answer.tokens.empty()) {
    // The last token is computed in any case: its logits are not kept.
    const auto last = prompt.begin() + static_cast<std::ptrdiff_t>(prompt.size()) - 1;
    cached.erase(std::mismatch(cached.begin(), cached.end(), prompt.begin(), last).first, cached.end());
    answer.cachedTokens = cached.size();
    logits = model->compute(std::span(prompt).subspan(cached.size()), [this] { return isCancelled(); });
    answer.promptSeconds = secondsSince(start);
    start = std::chrono::steady_clock::now();
  } else if (!isCancelled()) {
    logits = model->compute(std::span(&answer.tokens.back(), 1));
  }
  std::string piece;
  if (!isCancelled()) {
    const int32_t token = sampler.sample(logits, {prompt, answer.tokens, {}});
    if (std::ranges::find(model->info.ends, token) != model->info.ends.end()) {
      isDone = true;
    } else {
      answer.tokens.push_back(token);
      piece = stops.push(stream.push(token));
      isDone = stops.is_stopped();
      if (!isDone && answer.tokens.size() >= most) {
        answer.finish = FinishReason::length;
        isDone = true;
      }
    }
  }
  isDone = isDone || answer.finish == FinishReason::cancelled;
  if (isDone) {
    piece += stops.push(stream.finish());
    piece += stops.finish();
  }
  answer.text += piece;
  answer.answerSeconds += secondsSince(start);
  return piece;
}

Generation::Generation(std::unique_ptr<Implementation> made) : implementation(std::move(made)) {}
Generation::Generation(Generation &&other) noexcept = default;
Generation &Generation::operator=(Generation &&other) noexcept = default;
Generation::~Generation() = default;

std::optional<std::string> Generation::next() {
  return withErrors([&] { return implementation->next(); });
}
const Answer &Generation::answer() const { return implementation->answer; }
void Generation::cancel() noexcept { implementation->isCancelledByUser.store(true, std::memory_order_relaxed); }

std::string_view finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::stop:
    return "stop";
  case FinishReason::length:
    return "length";
  case FinishReason::cancelled:
    return "cancelled";
  }
  return "";
}

} // namespace vx::llm
