#include "vx/llm/vx_llm.h"

#include "errors.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace llm = vx::llm;

// The handles of C: a count of references and the object of C++.
struct vx_llm_generator {
  explicit vx_llm_generator(llm::Generator &&made) : generator(std::move(made)) {
    const llm::ModelInfo &facts = generator.info();
    info = {sizeof(info),        facts.family.c_str(),
            generator.context(), facts.context,
            facts.vocabulary,    facts.ends.size(),
            facts.ends.data(),   facts.chatTemplate.empty() ? nullptr : facts.chatTemplate.c_str(),
            facts.width};
  }

  std::atomic<size_t> references{1};
  llm::Generator generator;
  vx_llm_model_info info;
};

struct vx_llm_generation {
  explicit vx_llm_generation(llm::Generation &&made) : generation(std::move(made)) {}

  std::atomic<size_t> references{1};
  llm::Generation generation; // which keeps the model alive
  std::string piece;
  bool isDone = false;
  vx_llm_answer answer = {};
};

namespace {

template <typename F>
vx_status guarded(const char *function, F &&body) {
  vx_code code = VX_INTERNAL;
  std::string message, report, details;
  try {
    body();
    return nullptr;
  } catch (const vx::Error &error) {
    code = error.code();
    message = error.what();
    report = error.report();
    details = error.details();
  } catch (const std::bad_alloc &) {
    code = VX_OUT_OF_MEMORY;
    message = "the system has no more memory";
  } catch (const std::exception &error) {
    message = error.what();
  }
  return vx_status_create(code, (std::string(function) + ": " + message).c_str(),
                          report.empty() ? nullptr : report.c_str(), details.empty() ? nullptr : details.c_str());
}

void checkPointer(const void *pointer, const char *argument) {
  if (!pointer)
    throw llm::argumentError("argument '{}' is a null pointer", argument);
}

// Of an array that may be NULL if it has no elements.
template <typename T>
std::span<const T> spanOf(const T *elements, size_t count, const char *argument) {
  if (count)
    checkPointer(elements, argument);
  return {elements, count};
}

template <typename T>
void retain(T *object) {
  if (object)
    object->references.fetch_add(1, std::memory_order_relaxed);
}

template <typename T>
void release(T *object) {
  if (object && object->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete object;
}

// The caller's copy, which free() gives back.
template <typename T>
T *copyOf(const T *elements, size_t count) {
  T *copy = static_cast<T *>(std::malloc(count * sizeof(T)));
  if (!copy)
    throw std::bad_alloc();
  std::memcpy(copy, elements, count * sizeof(T));
  return copy;
}

void giveTokens(const std::vector<int32_t> &tokens, int32_t **place, size_t *count) {
  *place = tokens.empty() ? nullptr : copyOf(tokens.data(), tokens.size());
  *count = tokens.size();
}

// A caller built against an older header gives a smaller struct; `given` has the defaults of the other fields.
template <typename Options>
void copyOptions(const Options *options, Options &given) {
  if (options->struct_size < sizeof(size_t) || options->struct_size > sizeof(given))
    throw llm::argumentError("options have {} bytes, expected {} to {}", options->struct_size, sizeof(size_t),
                             sizeof(given));
  std::memcpy(&given, options, options->struct_size);
}

vx::InstanceOptions instanceOptionsOf(const vx_instance_options *options) {
  vx::InstanceOptions made;
  if (!options)
    return made;
  vx_instance_options given = {};
  copyOptions(options, given);
  if (given.symbol_count || given.share)
    throw llm::argumentError("options: expected no {}, which a generator has of its own, got {}",
                             given.share ? "share" : "symbols", given.share ? 1 : given.symbol_count);
  made.device = given.device ? given.device : "auto";
  made.deviceOrder = given.device_order ? given.device_order : "";
  made.noFallback = given.no_fallback != 0;
  made.threads = given.threads;
  made.variant = given.variant ? given.variant : "";
  made.waitLimitMs = given.wait_limit_ms;
  made.seed = given.seed;
  made.memoryLimit = given.memory_limit;
  return made;
}

llm::GenerateOptions generateOptionsOf(const vx_llm_options *options) {
  llm::GenerateOptions made;
  if (!options)
    return made;
  vx_llm_options given = VX_LLM_OPTIONS;
  copyOptions(options, given);
  vx::text::SamplingOptions &sampling = made.sampling;
  sampling.temperature = given.temperature;
  sampling.top_k = given.top_k;
  sampling.top_p = given.top_p;
  sampling.min_p = given.min_p;
  sampling.repetition_penalty = given.repetition_penalty;
  sampling.presence_penalty = given.presence_penalty;
  sampling.frequency_penalty = given.frequency_penalty;
  sampling.seed = given.seed;
  for (const vx_llm_logit_bias &bias : spanOf(given.biases, given.bias_count, "options->biases"))
    sampling.logit_bias.emplace_back(bias.token, bias.bias);
  made.maxTokens = given.max_tokens;
  for (const char *stop : spanOf(given.stop, given.stop_count, "options->stop")) {
    checkPointer(stop, "options->stop[i]");
    made.stop.emplace_back(stop);
  }
  return made;
}

vx_llm_finish finishOf(llm::FinishReason reason) {
  switch (reason) {
  case llm::FinishReason::stop:
    return VX_LLM_STOP;
  case llm::FinishReason::length:
    return VX_LLM_LENGTH;
  case llm::FinishReason::cancelled:
    return VX_LLM_CANCELLED;
  }
  return VX_LLM_STOP;
}

vx_llm_generation *startOf(vx_llm_generator *generator, size_t count, const int32_t *tokens,
                           const vx_llm_options *options) {
  checkPointer(generator, "generator");
  return new vx_llm_generation(generator->generator.start(spanOf(tokens, count, "tokens"), generateOptionsOf(options)));
}

// False after the last piece.
bool nextOf(vx_llm_generation &object) {
  std::optional<std::string> piece = object.generation.next();
  object.isDone = !piece;
  object.piece = piece ? std::move(*piece) : std::string();
  return !object.isDone;
}

} // namespace

vx_status vx_llm_generator_create(vx_module *module, const vx_instance_options *options, uint64_t context,
                                  vx_llm_generator **out_generator) {
  return guarded("vx_llm_generator_create", [&] {
    checkPointer(out_generator, "out_generator");
    *out_generator = nullptr;
    checkPointer(module, "module");
    vx_module_retain(module);
    const vx::Module owner(module);
    *out_generator = new vx_llm_generator(llm::Generator(owner, instanceOptionsOf(options), context));
  });
}

void vx_llm_generator_retain(vx_llm_generator *generator) { retain(generator); }
void vx_llm_generator_release(vx_llm_generator *generator) { release(generator); }

const vx_llm_model_info *vx_llm_generator_info(const vx_llm_generator *generator) {
  return generator ? &generator->info : nullptr;
}

vx_status vx_llm_generator_report(const vx_llm_generator *generator, vx_report_format format, char **out_report) {
  return guarded("vx_llm_generator_report", [&] {
    checkPointer(out_report, "out_report");
    *out_report = nullptr;
    checkPointer(generator, "generator");
    vx::check(vx_instance_report(generator->generator.instance().get(), format, out_report));
  });
}

vx_status vx_llm_encode(const vx_llm_generator *generator, const char *text, size_t size, int32_t **out_tokens,
                        size_t *out_count) {
  return guarded("vx_llm_encode", [&] {
    checkPointer(out_tokens, "out_tokens");
    *out_tokens = nullptr;
    checkPointer(out_count, "out_count");
    *out_count = 0;
    checkPointer(generator, "generator");
    const std::span<const char> bytes = spanOf(text, size, "text");
    giveTokens(generator->generator.encode(std::string_view(bytes.data(), bytes.size())), out_tokens, out_count);
  });
}

vx_status vx_llm_encode_chat(const vx_llm_generator *generator, size_t count, const vx_llm_message *messages,
                             int32_t **out_tokens, size_t *out_count) {
  return guarded("vx_llm_encode_chat", [&] {
    checkPointer(out_tokens, "out_tokens");
    *out_tokens = nullptr;
    checkPointer(out_count, "out_count");
    *out_count = 0;
    checkPointer(generator, "generator");
    std::vector<llm::Message> conversation;
    for (const vx_llm_message &message : spanOf(messages, count, "messages")) {
      checkPointer(message.role, "messages[i].role");
      checkPointer(message.content, "messages[i].content");
      conversation.push_back({message.role, message.content});
    }
    giveTokens(generator->generator.encode(std::span<const llm::Message>(conversation)), out_tokens, out_count);
  });
}

void vx_llm_tokens_release(int32_t *tokens) { std::free(tokens); }

vx_status vx_llm_decode(const vx_llm_generator *generator, size_t count, const int32_t *tokens, char **out_text) {
  return guarded("vx_llm_decode", [&] {
    checkPointer(out_text, "out_text");
    *out_text = nullptr;
    checkPointer(generator, "generator");
    const std::string text = generator->generator.decode(spanOf(tokens, count, "tokens"));
    *out_text = copyOf(text.c_str(), text.size() + 1);
  });
}

vx_status vx_llm_start(vx_llm_generator *generator, size_t count, const int32_t *tokens, const vx_llm_options *options,
                       vx_llm_generation **out_generation) {
  return guarded("vx_llm_start", [&] {
    checkPointer(out_generation, "out_generation");
    *out_generation = nullptr;
    *out_generation = startOf(generator, count, tokens, options);
  });
}

void vx_llm_generation_retain(vx_llm_generation *generation) { retain(generation); }
void vx_llm_generation_release(vx_llm_generation *generation) { release(generation); }

vx_status vx_llm_next(vx_llm_generation *generation, const char **out_piece, size_t *out_size) {
  return guarded("vx_llm_next", [&] {
    if (out_size)
      *out_size = 0;
    checkPointer(out_piece, "out_piece");
    *out_piece = nullptr;
    checkPointer(generation, "generation");
    if (!nextOf(*generation))
      return;
    *out_piece = generation->piece.c_str();
    if (out_size)
      *out_size = generation->piece.size();
  });
}

void vx_llm_cancel(vx_llm_generation *generation) {
  if (generation)
    generation->generation.cancel();
}

const vx_llm_answer *vx_llm_generation_answer(vx_llm_generation *generation) {
  if (!generation)
    return nullptr;
  const llm::Answer &made = generation->generation.answer();
  generation->answer = {sizeof(vx_llm_answer), generation->isDone ? finishOf(made.finish) : VX_LLM_RUNNING,
                        made.text.c_str(),     made.text.size(),
                        made.tokens.size(),    made.tokens.data(),
                        made.promptTokens,     made.cachedTokens,
                        made.promptSeconds,    made.answerSeconds};
  return &generation->answer;
}

vx_status vx_llm_generate(vx_llm_generator *generator, size_t count, const int32_t *tokens,
                          const vx_llm_options *options, vx_llm_text_fn on_text, void *user,
                          vx_llm_generation **out_generation) {
  return guarded("vx_llm_generate", [&] {
    checkPointer(out_generation, "out_generation");
    *out_generation = nullptr;
    const std::unique_ptr<vx_llm_generation, decltype(&release<vx_llm_generation>)> object(
        startOf(generator, count, tokens, options), &release<vx_llm_generation>);
    while (nextOf(*object))
      if (on_text && !object->piece.empty() && on_text(user, object->piece.data(), object->piece.size()) != 0)
        object->generation.cancel();
    retain(object.get());
    *out_generation = object.get();
  });
}

vx_status vx_llm_score(vx_llm_generator *generator, size_t count, const int32_t *tokens, size_t first,
                       double *out_scores) {
  return guarded("vx_llm_score", [&] {
    if (count > first)
      checkPointer(out_scores, "out_scores");
    if (out_scores && count > first)
      std::fill_n(out_scores, count - first, 0.0);
    checkPointer(generator, "generator");
    const std::vector<double> scores = generator->generator.score(spanOf(tokens, count, "tokens"), first);
    std::ranges::copy(scores, out_scores);
  });
}

vx_status vx_llm_embed(vx_llm_generator *generator, size_t count, const int32_t *tokens, vx_llm_pooling pooling,
                       float *out_vector) {
  return guarded("vx_llm_embed", [&] {
    checkPointer(out_vector, "out_vector");
    checkPointer(generator, "generator");
    if (pooling != VX_LLM_LAST && pooling != VX_LLM_MEAN && pooling != VX_LLM_NONE)
      throw llm::argumentError("pooling: expected {} to {}, got {}", int(VX_LLM_LAST), int(VX_LLM_NONE), int(pooling));
    const size_t rows = pooling == VX_LLM_NONE ? count : 1;
    std::fill_n(out_vector, rows * generator->info.width, 0.0f);
    const std::vector<float> vectors =
        generator->generator.embed(spanOf(tokens, count, "tokens"), static_cast<llm::Pooling>(pooling));
    std::ranges::copy(vectors, out_vector);
  });
}
