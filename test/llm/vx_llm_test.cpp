// The functions of vx_llm.h as a program in C uses them, and each with a null pointer in each place.
#include "vx/llm/vx_llm.h"

#include "library_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>

using namespace vx::test;

namespace {

// Succeeds, or says why not.
void expectDone(vx_status status) {
  EXPECT_EQ(status, nullptr) << vx_status_message(status);
  vx_status_release(status);
}

void expectFailure(vx_status status, vx_code code, const std::string &message) {
  EXPECT_EQ(vx_status_code(status), code);
  EXPECT_EQ(std::string(vx_status_message(status)), message);
  vx_status_release(status);
}

vx_instance_options onCpu() {
  vx_instance_options options = {};
  options.struct_size = sizeof(options);
  options.device = "cpu";
  options.threads = 1;
  return options;
}

vx_llm_options greedy(uint64_t tokens) {
  vx_llm_options options = VX_LLM_OPTIONS;
  options.temperature = 0;
  options.max_tokens = tokens;
  return options;
}

class VxLlm : public testing::Test {
protected:
  void SetUp() override { model = load(chatModel()); }
  void TearDown() override { vx_llm_generator_release(model); }

  static vx_llm_generator *load(const std::string &path) {
    vx_module *module = nullptr;
    expectDone(vx_module_load(path.c_str(), &module));
    const vx_instance_options options = onCpu();
    vx_llm_generator *made = nullptr;
    expectDone(vx_llm_generator_create(module, &options, 0, &made));
    vx_module_release(module);
    return made;
  }

  vx_llm_generator *model = nullptr;
  const std::vector<int32_t> prompt = promptTokens();
};

} // namespace

TEST_F(VxLlm, TellsOfTheModel) {
  const vx_llm_model_info *info = vx_llm_generator_info(model);
  EXPECT_EQ(info->struct_size, sizeof(vx_llm_model_info));
  EXPECT_STREQ(info->family, "llama");
  EXPECT_EQ(info->context, Context);
  EXPECT_EQ(info->most, Context);
  EXPECT_EQ(info->vocabulary, Vocabulary);
  ASSERT_EQ(info->end_count, 1u);
  EXPECT_EQ(info->ends[0], 81);
  EXPECT_NE(std::string(info->chat_template).find("messages"), std::string::npos);
  char *report = nullptr;
  expectDone(vx_llm_generator_report(model, VX_REPORT_JSON, &report));
  EXPECT_NE(std::string(report).find("\"device\":\"cpu:0\""), std::string::npos) << report;
  EXPECT_NE(std::string(report).find("\"threads\":1"), std::string::npos) << report;
  vx_string_release(report);
  vx_llm_generator *plain = load(plainModel());
  EXPECT_EQ(vx_llm_generator_info(plain)->chat_template, nullptr);
  vx_llm_generator_release(plain);
}

TEST_F(VxLlm, TurnsTextToTokensAndBack) {
  int32_t *tokens = nullptr;
  size_t count = 0;
  expectDone(vx_llm_encode(model, "hello~", 5, &tokens, &count));
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + count), prompt);
  char *text = nullptr;
  expectDone(vx_llm_decode(model, count, tokens, &text));
  EXPECT_STREQ(text, "hello");
  vx_string_release(text);
  vx_llm_tokens_release(tokens);
  expectDone(vx_llm_encode(model, nullptr, 0, &tokens, &count));
  EXPECT_EQ(tokens, nullptr);
  EXPECT_EQ(count, 0u);
  expectFailure(vx_llm_encode(model, "a\xff", 2, &tokens, &count), VX_INVALID_ARGUMENT,
                "vx_llm_encode: the prompt is no UTF-8: expected a character, got the byte 0xff at offset 1");
  const vx_llm_message messages[] = {{"user", "hello"}};
  expectDone(vx_llm_encode_chat(model, 1, messages, &tokens, &count));
  vx_llm_generation *answer = nullptr;
  vx_llm_options options = greedy(6);
  expectDone(vx_llm_generate(model, count, tokens, &options, nullptr, nullptr, &answer));
  EXPECT_EQ(vx_llm_generation_answer(answer)->text, chatAnswer(0));
  vx_llm_generation_release(answer);
  vx_llm_tokens_release(tokens);
  vx_llm_generator *plain = load(plainModel());
  expectFailure(vx_llm_encode_chat(plain, 1, messages, &tokens, &count), VX_UNSUPPORTED,
                "vx_llm_encode_chat: the model has no chat template, expected one of a model for conversations");
  vx_llm_generator_release(plain);
}

TEST_F(VxLlm, AnswersAPieceAtATime) {
  const vx_llm_options options = greedy(12);
  vx_llm_generation *answer = nullptr;
  expectDone(vx_llm_start(model, prompt.size(), prompt.data(), &options, &answer));
  EXPECT_EQ(vx_llm_generation_answer(answer)->finish, VX_LLM_RUNNING);
  vx_llm_generator_retain(model);
  vx_llm_generator_release(model);
  std::string text;
  const char *piece = nullptr;
  size_t size = 0, pieces = 0;
  for (expectDone(vx_llm_next(answer, &piece, &size)); piece; expectDone(vx_llm_next(answer, &piece, &size))) {
    EXPECT_EQ(std::strlen(piece), size);
    text += piece;
    ++pieces;
  }
  EXPECT_EQ(pieces, 12u);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(text, answerText());
  const vx_llm_answer *made = vx_llm_generation_answer(answer);
  EXPECT_EQ(made->struct_size, sizeof(vx_llm_answer));
  EXPECT_EQ(made->finish, VX_LLM_LENGTH);
  EXPECT_EQ(std::string(made->text, made->text_size), answerText());
  EXPECT_EQ(std::vector<int32_t>(made->tokens, made->tokens + made->token_count), answerTokens());
  EXPECT_EQ(made->prompt_tokens, prompt.size());
  EXPECT_EQ(made->cached_tokens, 0u);
  EXPECT_GT(made->prompt_seconds, 0);
  EXPECT_GT(made->answer_seconds, 0);
  vx_llm_generation *second = nullptr;
  expectDone(vx_llm_start(model, prompt.size(), prompt.data(), &options, &second));
  expectDone(vx_llm_next(second, &piece, nullptr));
  EXPECT_EQ(vx_llm_generation_answer(second)->cached_tokens, prompt.size() - 1);
  vx_llm_generation *third = nullptr;
  expectDone(vx_llm_start(model, prompt.size(), prompt.data(), &options, &third));
  expectFailure(vx_llm_next(second, &piece, &size), VX_INVALID_ARGUMENT,
                "vx_llm_next: the model has started another answer, which ends this one");
  EXPECT_EQ(piece, nullptr);
  vx_llm_generation_retain(third);
  vx_llm_generation_release(third);
  vx_llm_cancel(third);
  expectDone(vx_llm_next(third, &piece, &size));
  expectDone(vx_llm_next(third, &piece, &size));
  EXPECT_EQ(piece, nullptr);
  EXPECT_EQ(vx_llm_generation_answer(third)->finish, VX_LLM_CANCELLED);
  for (vx_llm_generation *one : {answer, second, third})
    vx_llm_generation_release(one);
}

TEST_F(VxLlm, HandsPiecesToAFunction) {
  struct Pieces {
    std::string text;
    int left;
  };
  const auto take = [](void *user, const char *piece, size_t size) {
    auto &pieces = *static_cast<Pieces *>(user);
    pieces.text.append(piece, size);
    return --pieces.left == 0 ? 1 : 0;
  };
  vx_llm_options options = greedy(12);
  for (const int count : {100, 3}) {
    Pieces pieces{"", count};
    vx_llm_generation *answer = nullptr;
    expectDone(vx_llm_generate(model, prompt.size(), prompt.data(), &options, take, &pieces, &answer));
    const vx_llm_answer *made = vx_llm_generation_answer(answer);
    EXPECT_EQ(made->finish, count == 3 ? VX_LLM_CANCELLED : VX_LLM_LENGTH);
    EXPECT_EQ(made->token_count, count == 3 ? 3u : 12u);
    EXPECT_EQ(made->text, pieces.text);
    EXPECT_EQ(answerText().rfind(pieces.text, 0), 0u);
    vx_llm_generation_release(answer);
  }
  // Strings that end it, and a bias that leaves one token.
  const std::string end = answerText().substr(4, 2);
  const char *stop[] = {"~", end.c_str()};
  options.stop = stop;
  options.stop_count = 2;
  vx_llm_generation *answer = nullptr;
  expectDone(vx_llm_generate(model, prompt.size(), prompt.data(), &options, nullptr, nullptr, &answer));
  EXPECT_EQ(vx_llm_generation_answer(answer)->finish, VX_LLM_STOP);
  EXPECT_EQ(vx_llm_generation_answer(answer)->text, answerText().substr(0, answerText().find(end)));
  vx_llm_generation_release(answer);
  const vx_llm_logit_bias biases[] = {{5, 1000}};
  options = greedy(4);
  options.biases = biases;
  options.bias_count = 1;
  expectDone(vx_llm_generate(model, prompt.size(), prompt.data(), &options, nullptr, nullptr, &answer));
  EXPECT_STREQ(vx_llm_generation_answer(answer)->text, "ffff");
  vx_llm_generation_release(answer);
}

// Each option reaches the sampler: the answer is another one than by the defaults, or the option is refused by name.
TEST_F(VxLlm, PassesOptionsOn) {
  const auto answerOf = [&](const vx_llm_options *options) {
    vx_llm_generation *answer = nullptr;
    expectDone(vx_llm_generate(model, prompt.size(), prompt.data(), options, nullptr, nullptr, &answer));
    const vx_llm_answer *made = vx_llm_generation_answer(answer);
    const std::vector<int32_t> tokens(made->tokens, made->tokens + made->token_count);
    vx_llm_generation_release(answer);
    return tokens;
  };
  vx_llm_options drawn = VX_LLM_OPTIONS;
  drawn.max_tokens = 20;
  const std::vector<int32_t> plain = answerOf(&drawn);
  EXPECT_EQ(answerOf(&drawn), plain);
  EXPECT_EQ(plain.size(), 20u);
  const auto change = [&](auto member, auto value) {
    vx_llm_options options = drawn;
    options.*member = value;
    return answerOf(&options);
  };
  EXPECT_NE(change(&vx_llm_options::seed, 1), plain);
  EXPECT_NE(change(&vx_llm_options::temperature, 5.0), plain);
  const std::vector<int32_t> likely = change(&vx_llm_options::temperature, 0.0);
  EXPECT_NE(likely, plain);
  EXPECT_EQ(change(&vx_llm_options::top_k, 1), likely);
  EXPECT_EQ(change(&vx_llm_options::top_p, 1e-9), likely);
  EXPECT_EQ(change(&vx_llm_options::min_p, 1.0), likely);
  EXPECT_NE(change(&vx_llm_options::repetition_penalty, 50.0), plain);
  EXPECT_NE(change(&vx_llm_options::presence_penalty, 50.0), plain);
  EXPECT_NE(change(&vx_llm_options::frequency_penalty, 50.0), plain);
  EXPECT_EQ(change(&vx_llm_options::max_tokens, 2).size(), 2u);
  // Of a caller that knows the first fields only; the others have their defaults.
  vx_llm_options old = greedy(2);
  old.struct_size = offsetof(vx_llm_options, top_k);
  old.top_p = 7;
  const std::vector<int32_t> rest = answerOf(&old);
  ASSERT_LE(likely.size(), rest.size()); // without its max_tokens
  EXPECT_TRUE(std::equal(likely.begin(), likely.end(), rest.begin()));
  old.struct_size = sizeof(old) + 1;
  vx_llm_generation *answer = nullptr;
  expectFailure(vx_llm_start(model, prompt.size(), prompt.data(), &old, &answer), VX_INVALID_ARGUMENT,
                "vx_llm_start: options have " + std::to_string(sizeof(old) + 1) + " bytes, expected 8 to " +
                    std::to_string(sizeof(old)));
  EXPECT_EQ(answer, nullptr);
}

TEST_F(VxLlm, Scores) {
  std::vector<double> scores(prompt.size() - 2, 7);
  expectDone(vx_llm_score(model, prompt.size(), prompt.data(), 2, scores.data()));
  for (const double score : scores)
    EXPECT_LT(score, 0);
  std::vector<double> all(prompt.size() - 1);
  expectDone(vx_llm_score(model, prompt.size(), prompt.data(), 1, all.data()));
  EXPECT_NEAR(all[1], scores[0], 1e-6);
  expectDone(vx_llm_score(model, prompt.size(), prompt.data(), prompt.size(), nullptr));
  const int32_t wrong[] = {1, 99};
  scores.assign(1, 7);
  expectFailure(vx_llm_score(model, 2, wrong, 1, scores.data()), VX_INVALID_ARGUMENT,
                "vx_llm_score: score: expected tokens from 0 to 81, got 99");
  EXPECT_EQ(scores[0], 0);
}

TEST_F(VxLlm, Embeds) {
  EXPECT_EQ(vx_llm_generator_info(model)->width, Width);
  const std::vector<double> states = promptStates();
  std::vector<float> each(states.size(), 7), last(Width + 1, 7), mean(Width + 1, 7);
  expectDone(vx_llm_embed(model, prompt.size(), prompt.data(), VX_LLM_NONE, each.data()));
  expectDone(vx_llm_embed(model, prompt.size(), prompt.data(), VX_LLM_LAST, last.data()));
  expectDone(vx_llm_embed(model, prompt.size(), prompt.data(), VX_LLM_MEAN, mean.data()));
  double norm = 0, product = 0, length = 0;
  for (size_t i = 0; i < states.size(); ++i)
    EXPECT_NEAR(each[i], states[i], 1e-5) << i;
  for (size_t i = 0; i < Width; ++i) {
    double sum = 0;
    for (size_t token = 0; token < prompt.size(); ++token)
      sum += states[token * Width + i];
    norm += sum * sum;
    product += sum * mean[i];
    length += last[i] * last[i];
    EXPECT_GT(last[i] * states[states.size() - Width + i], 0) << i;
  }
  EXPECT_NEAR(product, std::sqrt(norm), 1e-5 * product);
  EXPECT_NEAR(length, 1, 1e-5);
  EXPECT_EQ(last[Width], 7);
  EXPECT_EQ(mean[Width], 7);
  const int32_t wrong[] = {3, 99};
  expectFailure(vx_llm_embed(model, 2, wrong, VX_LLM_NONE, each.data()), VX_INVALID_ARGUMENT,
                "vx_llm_embed: embed: expected tokens from 0 to 81, got 99");
  EXPECT_EQ(std::count(each.begin(), each.end(), 0), 2 * Width);
  expectFailure(vx_llm_embed(model, 0, nullptr, VX_LLM_LAST, last.data()), VX_INVALID_ARGUMENT,
                "vx_llm_embed: embed: expected 1 to 64 tokens, the context, got 0");
  EXPECT_EQ(std::count(last.begin(), last.end(), 0), Width);
  expectFailure(vx_llm_embed(model, 2, prompt.data(), static_cast<vx_llm_pooling>(3), last.data()), VX_INVALID_ARGUMENT,
                "vx_llm_embed: pooling: expected 0 to 2, got 3");
}

TEST_F(VxLlm, RefusesModulesAndOptions) {
  vx_module *module = nullptr;
  vx_instance_options options = onCpu();
  vx_llm_generator *made = model;
  expectDone(vx_module_load(otherModule().c_str(), &module));
  expectFailure(vx_llm_generator_create(module, &options, 0, &made), VX_INVALID_MODULE,
                "vx_llm_generator_create: the module has no asset 'language_model.json', expected one that vx-compile "
                "made of a language model");
  EXPECT_EQ(made, nullptr);
  vx_module_release(module);
  expectDone(vx_module_load(chatModel().c_str(), &module));
  expectFailure(vx_llm_generator_create(module, &options, 65, &made), VX_INVALID_ARGUMENT,
                "vx_llm_generator_create: the context is 65 tokens, the model takes 64 at most");
  expectDone(vx_llm_generator_create(module, nullptr, 12, &made));
  EXPECT_EQ(vx_llm_generator_info(made)->context, 12u);
  vx_llm_generator_release(made);
  const vx_symbol_value symbol = {"context", 4};
  options.symbol_count = 1;
  options.symbols = &symbol;
  expectFailure(vx_llm_generator_create(module, &options, 0, &made), VX_INVALID_ARGUMENT,
                "vx_llm_generator_create: options: expected no symbols, which a generator has of its own, got 1");
  options = onCpu();
  options.device = "cuda:77";
  options.no_fallback = 1;
  vx_status status = vx_llm_generator_create(module, &options, 0, &made);
  EXPECT_EQ(vx_status_code(status), VX_NO_DEVICE);
  EXPECT_NE(vx_status_report(status), nullptr);
  vx_status_release(status);
  options = onCpu();
  options.variant = "none";
  options.no_fallback = 1;
  status = vx_llm_generator_create(module, &options, 0, &made);
  EXPECT_EQ(vx_status_code(status), VX_NO_DEVICE) << vx_status_message(status);
  vx_status_release(status);
  options = onCpu();
  options.memory_limit = 1;
  status = vx_llm_generator_create(module, &options, 0, &made);
  EXPECT_EQ(vx_status_code(status), VX_OUT_OF_MEMORY) << vx_status_message(status);
  vx_status_release(status);
  options = onCpu();
  options.device = nullptr;
  options.device_order = "null";
  expectDone(vx_llm_generator_create(module, &options, 0, &made));
  char *report = nullptr;
  expectDone(vx_llm_generator_report(made, VX_REPORT_JSON, &report));
  EXPECT_NE(std::string(report).find("\"order\":[\"null\"]"), std::string::npos) << report;
  vx_string_release(report);
  vx_llm_generator_release(made);
  vx_module_release(module);
}

TEST(VxLlmHeader, NamesNullArguments) {
  std::ifstream file(VX_TEST_LLM_HEADER);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text = std::regex_replace(text, std::regex("/\\*[^*]*\\*+([^/*][^*]*\\*+)*/"), "");
  std::set<std::string> declared, checked;
  const std::regex declaration("VX_API[^(;]*?\\b(vx_[a-z_]+)\\(");
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it)
    declared.insert((*it)[1]);

  vx_module *module = nullptr;
  expectDone(vx_module_load(chatModel().c_str(), &module));
  const vx_instance_options instance = onCpu();
  vx_llm_generator *model = nullptr, *made = nullptr;
  expectDone(vx_llm_generator_create(module, &instance, 0, &model));
  const std::vector<int32_t> prompt = promptTokens();
  vx_llm_generation *answer = nullptr, *other = nullptr;
  expectDone(vx_llm_start(model, prompt.size(), prompt.data(), nullptr, &answer));
  char *string = nullptr;
  int32_t *tokens = nullptr;
  size_t count = 0;
  const char *piece = nullptr;
  double scores[8];
  const vx_llm_message message = {"user", "a"}, roleless = {nullptr, "a"}, silent = {"user", nullptr};
  vx_llm_options hasStop = VX_LLM_OPTIONS, hasNone = VX_LLM_OPTIONS, hasBias = VX_LLM_OPTIONS;
  const char *const none[] = {nullptr};
  hasStop.stop_count = hasNone.stop_count = hasBias.bias_count = 1;
  hasNone.stop = none;
  const auto isNull = [&](const std::string &function, const std::string &argument, vx_status status) {
    checked.insert(function);
    expectFailure(status, VX_INVALID_ARGUMENT, function + ": argument '" + argument + "' is a null pointer");
  };
  isNull("vx_llm_generator_create", "module", vx_llm_generator_create(nullptr, &instance, 0, &made));
  isNull("vx_llm_generator_create", "out_generator", vx_llm_generator_create(module, &instance, 0, nullptr));
  isNull("vx_llm_generator_report", "generator", vx_llm_generator_report(nullptr, VX_REPORT_TEXT, &string));
  isNull("vx_llm_generator_report", "out_report", vx_llm_generator_report(model, VX_REPORT_TEXT, nullptr));
  isNull("vx_llm_encode", "generator", vx_llm_encode(nullptr, "a", 1, &tokens, &count));
  isNull("vx_llm_encode", "text", vx_llm_encode(model, nullptr, 1, &tokens, &count));
  isNull("vx_llm_encode", "out_tokens", vx_llm_encode(model, "a", 1, nullptr, &count));
  isNull("vx_llm_encode", "out_count", vx_llm_encode(model, "a", 1, &tokens, nullptr));
  isNull("vx_llm_encode_chat", "generator", vx_llm_encode_chat(nullptr, 1, &message, &tokens, &count));
  isNull("vx_llm_encode_chat", "messages", vx_llm_encode_chat(model, 1, nullptr, &tokens, &count));
  isNull("vx_llm_encode_chat", "messages[i].role", vx_llm_encode_chat(model, 1, &roleless, &tokens, &count));
  isNull("vx_llm_encode_chat", "messages[i].content", vx_llm_encode_chat(model, 1, &silent, &tokens, &count));
  isNull("vx_llm_encode_chat", "out_tokens", vx_llm_encode_chat(model, 1, &message, nullptr, &count));
  isNull("vx_llm_encode_chat", "out_count", vx_llm_encode_chat(model, 1, &message, &tokens, nullptr));
  isNull("vx_llm_decode", "generator", vx_llm_decode(nullptr, 1, prompt.data(), &string));
  isNull("vx_llm_decode", "tokens", vx_llm_decode(model, 1, nullptr, &string));
  isNull("vx_llm_decode", "out_text", vx_llm_decode(model, 1, prompt.data(), nullptr));
  isNull("vx_llm_start", "generator", vx_llm_start(nullptr, 1, prompt.data(), nullptr, &other));
  isNull("vx_llm_start", "tokens", vx_llm_start(model, 1, nullptr, nullptr, &other));
  isNull("vx_llm_start", "options->stop", vx_llm_start(model, 1, prompt.data(), &hasStop, &other));
  isNull("vx_llm_start", "options->stop[i]", vx_llm_start(model, 1, prompt.data(), &hasNone, &other));
  isNull("vx_llm_start", "options->biases", vx_llm_start(model, 1, prompt.data(), &hasBias, &other));
  isNull("vx_llm_start", "out_generation", vx_llm_start(model, 1, prompt.data(), nullptr, nullptr));
  isNull("vx_llm_next", "generation", vx_llm_next(nullptr, &piece, &count));
  isNull("vx_llm_next", "out_piece", vx_llm_next(answer, nullptr, &count));
  isNull("vx_llm_generate", "generator", vx_llm_generate(nullptr, 1, prompt.data(), nullptr, nullptr, nullptr, &other));
  isNull("vx_llm_generate", "tokens", vx_llm_generate(model, 1, nullptr, nullptr, nullptr, nullptr, &other));
  isNull("vx_llm_generate", "out_generation",
         vx_llm_generate(model, 1, prompt.data(), nullptr, nullptr, nullptr, nullptr));
  float vector[Width];
  isNull("vx_llm_embed", "generator", vx_llm_embed(nullptr, 2, prompt.data(), VX_LLM_LAST, vector));
  isNull("vx_llm_embed", "tokens", vx_llm_embed(model, 2, nullptr, VX_LLM_LAST, vector));
  isNull("vx_llm_embed", "out_vector", vx_llm_embed(model, 2, prompt.data(), VX_LLM_LAST, nullptr));
  isNull("vx_llm_score", "generator", vx_llm_score(nullptr, 2, prompt.data(), 1, scores));
  isNull("vx_llm_score", "tokens", vx_llm_score(model, 2, nullptr, 1, scores));
  isNull("vx_llm_score", "out_scores", vx_llm_score(model, 2, prompt.data(), 1, nullptr));
  for (void *place : {(void *)made, (void *)string, (void *)tokens, (void *)other})
    EXPECT_EQ(place, nullptr);
  EXPECT_EQ(count, 0u);
  // Those without a status do nothing.
  EXPECT_EQ(vx_llm_generator_info(nullptr), nullptr);
  EXPECT_EQ(vx_llm_generation_answer(nullptr), nullptr);
  vx_llm_generator_retain(nullptr);
  vx_llm_generator_release(nullptr);
  vx_llm_generation_retain(nullptr);
  vx_llm_generation_release(nullptr);
  vx_llm_cancel(nullptr);
  vx_llm_tokens_release(nullptr);
  for (const char *name :
       {"vx_llm_generator_info", "vx_llm_generation_answer", "vx_llm_generator_retain", "vx_llm_generator_release",
        "vx_llm_generation_retain", "vx_llm_generation_release", "vx_llm_cancel", "vx_llm_tokens_release"})
    checked.insert(name);
  EXPECT_EQ(checked, declared);
  // The first answer has not ended by all this.
  expectDone(vx_llm_next(answer, &piece, &count));
  vx_llm_generation_release(answer);
  vx_llm_generator_release(model);
  vx_module_release(module);
}
