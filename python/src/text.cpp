// Tokenizers, models of embeddings and language models for Python: vx/_texts.py and vx/_language_model.py are made of
// them. The interpreter's lock is given up while texts are tokenised and run.
#include "vx/llm/generator.hpp"
#include "vx/serve/embedder.hpp"
#include "vx/text/tokenizer.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace llm = vx::llm;
namespace serve = vx::serve;
namespace text = vx::text;

/// A failure of the runtime is the package's vx.Error, with the runtime's name of its code.
void raiseRuntime(const vx::Error &error) {
  constexpr const char *names[] = {"ok",        "invalid_argument", "not_found", "invalid_module", "unsupported",
                                   "no_device", "out_of_memory",    "fault",     "io_error",       "device_lost",
                                   "internal",  "cancelled",        "timed_out"};
  const nb::object type = nb::module_::import_("vx._runtime").attr("Error");
  nb::object made = type(error.what());
  made.attr("code") = error.code() < std::size(names) ? names[error.code()] : "unknown";
  made.attr("report") = error.report().empty() ? nb::none() : nb::object(nb::str(error.report().c_str()));
  PyErr_SetObject(type.ptr(), made.ptr());
}
void translate(const std::exception_ptr &raised, void *) {
  try {
    std::rethrow_exception(raised);
  } catch (const llm::Error &error) { // which is a vx::Error too
    if (error.code() == VX_OUT_OF_MEMORY)
      return raiseRuntime(error);
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const vx::Error &error) {
    raiseRuntime(error);
  } catch (const serve::Error &error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const text::Error &error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  }
}

std::vector<std::string_view> viewsOf(const std::vector<std::string> &texts) { return {texts.begin(), texts.end()}; }

struct Options {
  bool addSpecialTokens = true, matchSpecialTokens = true, overflowing = false;
  std::optional<size_t> maxLength, padTo;
  size_t stride = 0, multipleOf = 0;
  bool pads = false, truncatesFront = false, padsFront = false;
  std::string strategy = "longest_first";
  int32_t padId = 0, padTypeId = 0;
  bool usesFile = true; // truncation and padding are those of the file

  text::EncodeOptions of(const text::Tokenizer &tokenizer) const {
    text::EncodeOptions made;
    if (usesFile)
      made = tokenizer.default_options();
    made.add_special_tokens = addSpecialTokens;
    made.match_special_tokens = matchSpecialTokens;
    made.offsets = text::OffsetUnit::code_points;
    made.overflowing = overflowing;
    if (usesFile)
      return made;
    if (maxLength) {
      using Strategy = text::Truncation::Strategy;
      const Strategy kind = strategy == "only_first"    ? Strategy::only_first
                            : strategy == "only_second" ? Strategy::only_second
                                                        : Strategy::longest_first;
      made.truncation =
          text::Truncation{*maxLength, stride, kind, truncatesFront ? text::Side::left : text::Side::right};
    }
    if (pads)
      made.padding =
          text::Padding{padTo, multipleOf, padsFront ? text::Side::left : text::Side::right, padId, padTypeId};
    return made;
  }
};

nb::dict toDict(const text::Encoding &encoding) {
  nb::dict made;
  made["ids"] = encoding.ids;
  made["type_ids"] = encoding.type_ids;
  made["attention_mask"] = encoding.attention_mask;
  made["special_tokens_mask"] = encoding.special_tokens_mask;
  made["words"] = encoding.words;
  nb::list offsets, overflowing;
  for (const text::Span &span : encoding.offsets)
    offsets.append(nb::make_tuple(span.begin, span.end));
  for (const text::Encoding &part : encoding.overflowing)
    overflowing.append(toDict(part));
  made["offsets"] = offsets;
  made["overflowing"] = overflowing;
  made["is_truncated"] = encoding.is_truncated;
  return made;
}

nb::list encode(const text::Tokenizer &tokenizer, const std::vector<std::string> &texts,
                const std::optional<std::vector<std::string>> &pairs, const Options &options) {
  std::vector<text::Encoding> encodings;
  {
    const nb::gil_scoped_release released;
    const text::EncodeOptions made = options.of(tokenizer);
    if (pairs) {
      for (size_t i = 0; i < texts.size(); ++i)
        encodings.push_back(tokenizer.encode_pair(texts[i], pairs->at(i), made));
    } else {
      const std::vector<std::string_view> views = viewsOf(texts);
      encodings = tokenizer.encode_batch(views, made);
    }
  }
  nb::list list;
  for (const text::Encoding &encoding : encodings)
    list.append(toDict(encoding));
  return list;
}

serve::RunOptions runOptions(const std::optional<std::string> &pooling, std::optional<bool> normalize,
                             size_t dimensions) {
  serve::RunOptions options;
  if (pooling) {
    options.pooling = serve::parsePooling(*pooling);
    if (!options.pooling)
      throw serve::Error(serve::Error::Kind::argument, "pooling: expected cls, mean or last, got '" + *pooling + "'");
  }
  options.normalize = normalize;
  options.dimensions = dimensions;
  return options;
}

serve::TokenizeOptions tokenizeOptions(const std::string &prompt, const std::string &promptName, bool usePrompt,
                                       bool truncate, size_t maxTokens) {
  return {truncate, maxTokens, prompt, promptName, usePrompt};
}

nb::tuple embed(const serve::Embedder &embedder, const std::vector<std::string> &texts,
                const serve::EmbedOptions &options) {
  serve::Matrix matrix;
  serve::EmbedStatistics statistics;
  {
    const nb::gil_scoped_release released;
    matrix = embedder.embed(texts, options, &statistics);
  }
  const nb::bytes values(reinterpret_cast<const char *>(matrix.values.data()), matrix.values.size() * sizeof(float));
  nb::dict facts;
  facts["texts"] = statistics.texts;
  facts["tokens"] = statistics.tokens;
  facts["padding"] = statistics.padding;
  facts["truncated"] = statistics.truncated;
  facts["batches"] = statistics.batches;
  facts["tokenize_seconds"] = statistics.tokenizeSeconds;
  facts["run_seconds"] = statistics.runSeconds;
  return nb::make_tuple(matrix.rows, matrix.columns, values, facts);
}

nb::dict infoOf(const serve::Embedder &embedder) {
  const serve::EmbedderInfo &info = embedder.info();
  nb::dict made, prompts;
  made["name"] = info.name;
  made["dimensions"] = info.dimensions;
  made["max_tokens"] = info.maxTokens;
  made["pooling"] = std::string(serve::poolingName(info.pooling));
  made["normalizes"] = info.normalizes;
  nb::list poolings;
  for (const serve::Pooling pooling : info.poolings)
    poolings.append(std::string(serve::poolingName(pooling)));
  made["poolings"] = poolings;
  for (const auto &[name, prompt] : info.prompts)
    prompts[name.c_str()] = prompt;
  made["prompts"] = prompts;
  made["default_prompt"] = info.defaultPrompt.empty() ? nb::none() : nb::object(nb::str(info.defaultPrompt.c_str()));
  made["can_shorten"] = info.canShorten;
  made["shorter_dimensions"] = info.shorterDimensions;
  made["apart"] = info.apart.empty() ? nb::none() : nb::object(nb::str(info.apart.c_str()));
  made["device"] = embedder.device();
  return made;
}

vx::InstanceOptions instanceOptions(const std::string &device, bool fallback, uint32_t threads) {
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = !fallback;
  options.threads = threads;
  return options;
}

void load(serve::Embedder *place, const std::string &path, const std::string &device, bool fallback, uint32_t threads) {
  const nb::gil_scoped_release released;
  new (place) serve::Embedder(path, instanceOptions(device, fallback, threads));
}

/// A language model that threads take turns with.
struct LanguageModel {
  LanguageModel(const std::string &path, const vx::InstanceOptions &options, size_t context)
      : generator(path, options, context) {}

  std::vector<int32_t> encode(const std::vector<std::pair<std::string, std::string>> &messages) const {
    std::vector<llm::Message> made;
    for (const auto &[role, content] : messages)
      made.push_back({role, content});
    return generator.encode(made);
  }

  llm::Generator generator;
  std::mutex turn;
};

/// The width of a vector, and the bytes of all.
nb::tuple embedTokens(LanguageModel &model, const std::vector<int32_t> &tokens, const std::string &pooling) {
  std::vector<float> vectors;
  {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(model.turn);
    vectors = model.generator.embed(tokens, pooling == "last"   ? llm::Pooling::last
                                            : pooling == "mean" ? llm::Pooling::mean
                                                                : llm::Pooling::none);
  }
  const nb::bytes values(reinterpret_cast<const char *>(vectors.data()), vectors.size() * sizeof(float));
  return nb::make_tuple(model.generator.info().width, values);
}

/// The pieces of an answer. It keeps the model alive.
class AnswerStream {
public:
  AnswerStream(std::shared_ptr<LanguageModel> model, const std::vector<int32_t> &prompt,
               const llm::GenerateOptions &options)
      : model(std::move(model)) {
    const std::lock_guard lock(this->model->turn);
    generation.emplace(this->model->generator.start(prompt, options));
  }
  std::optional<std::string> next() {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(model->turn);
    std::optional<std::string> piece = generation->next();
    isDone = !piece;
    return piece;
  }
  nb::dict answer() const {
    const llm::Answer &made = generation->answer();
    nb::dict facts;
    facts["text"] = made.text;
    facts["tokens"] = made.tokens;
    facts["finish_reason"] =
        isDone ? nb::object(nb::str(std::string(llm::finishReasonName(made.finish)).c_str())) : nb::object(nb::none());
    facts["prompt_tokens"] = made.promptTokens;
    facts["cached_tokens"] = made.cachedTokens;
    facts["prompt_seconds"] = made.promptSeconds;
    facts["answer_seconds"] = made.answerSeconds;
    return facts;
  }

private:
  const std::shared_ptr<LanguageModel> model;
  std::optional<llm::Generation> generation;
  bool isDone = false;
};

nb::dict languageModelInfo(const LanguageModel &model) {
  const llm::ModelInfo &info = model.generator.info();
  nb::dict made;
  made["family"] = info.family;
  made["context"] = model.generator.context();
  made["max_context"] = info.context;
  made["vocabulary"] = info.vocabulary;
  made["width"] = info.width;
  made["ends"] = info.ends;
  made["chat_template"] =
      info.chatTemplate.empty() ? nb::object(nb::none()) : nb::object(nb::str(info.chatTemplate.c_str()));
  return made;
}

} // namespace

NB_MODULE(_text, m) {
  nb::register_exception_translator(translate);
  nb::class_<Options>(m, "Options")
      .def(nb::init<>())
      .def_rw("add_special_tokens", &Options::addSpecialTokens)
      .def_rw("match_special_tokens", &Options::matchSpecialTokens)
      .def_rw("overflowing", &Options::overflowing)
      .def_rw("max_length", &Options::maxLength, nb::arg().none())
      .def_rw("stride", &Options::stride)
      .def_rw("strategy", &Options::strategy)
      .def_rw("truncates_front", &Options::truncatesFront)
      .def_rw("pads", &Options::pads)
      .def_rw("pad_to", &Options::padTo, nb::arg().none())
      .def_rw("multiple_of", &Options::multipleOf)
      .def_rw("pads_front", &Options::padsFront)
      .def_rw("pad_id", &Options::padId)
      .def_rw("pad_type_id", &Options::padTypeId)
      .def_rw("uses_file", &Options::usesFile);
  nb::class_<text::Tokenizer>(m, "Tokenizer")
      .def_static(
          "load", [](const std::string &path) { return text::Tokenizer::load(path); }, "path"_a,
          nb::call_guard<nb::gil_scoped_release>())
      .def_static(
          "from_json", [](const nb::bytes &json) { return text::Tokenizer::from_json({json.c_str(), json.size()}); },
          "json"_a)
      .def("encode", &encode, "texts"_a, "pairs"_a.none(), "options"_a)
      .def(
          "decode",
          [](const text::Tokenizer &self, const std::vector<int32_t> &ids, bool skip) {
            return self.decode(ids, skip);
          },
          "ids"_a, "skip_special_tokens"_a)
      .def("vocabulary_size", &text::Tokenizer::vocabulary_size)
      .def(
          "token_to_id", [](const text::Tokenizer &self, const std::string &token) { return self.token_to_id(token); },
          "token"_a)
      .def(
          "id_to_token",
          [](const text::Tokenizer &self, int32_t id) -> std::optional<nb::bytes> {
            const std::optional<std::string> token = self.id_to_token(id);
            return token ? std::optional(nb::bytes(token->data(), token->size())) : std::nullopt;
          },
          "id"_a)
      .def("is_special", &text::Tokenizer::is_special, "id"_a);
  nb::class_<text::DecodeStream>(m, "DecodeStream")
      .def(nb::init<text::Tokenizer, bool>(), "tokenizer"_a, "skip_special_tokens"_a)
      .def("push", &text::DecodeStream::push, "id"_a)
      .def("finish", &text::DecodeStream::finish);
  nb::class_<serve::Embedder>(m, "Embedder")
      .def("__init__", &load, "path"_a, "device"_a, "fallback"_a, "threads"_a)
      .def("info", &infoOf)
      .def("report_text", [](const serve::Embedder &self) { return self.deviceReport(); })
      .def("report_json", [](const serve::Embedder &self) { return self.deviceReport(VX_REPORT_JSON); })
      .def(
          "tokenize",
          [](const serve::Embedder &self, const std::string &given, const std::string &prompt,
             const std::string &promptName, bool usePrompt, bool truncate, size_t maxTokens) {
            const serve::Tokens tokens =
                self.tokenize(given, tokenizeOptions(prompt, promptName, usePrompt, truncate, maxTokens));
            return nb::make_tuple(tokens.ids, tokens.typeIds, tokens.isTruncated());
          },
          "text"_a, "prompt"_a, "prompt_name"_a, "use_prompt"_a, "truncate"_a, "max_tokens"_a)
      .def(
          "embed",
          [](const serve::Embedder &self, const std::vector<std::string> &texts, const std::string &prompt,
             const std::string &promptName, bool usePrompt, bool truncate, size_t maxTokens,
             const std::optional<std::string> &pooling, std::optional<bool> normalize, size_t dimensions,
             size_t batchTokens) {
            serve::EmbedOptions options;
            options.tokenize = tokenizeOptions(prompt, promptName, usePrompt, truncate, maxTokens);
            options.run = runOptions(pooling, normalize, dimensions);
            options.batchTokens = batchTokens;
            return embed(self, texts, options);
          },
          "texts"_a, "prompt"_a, "prompt_name"_a, "use_prompt"_a, "truncate"_a, "max_tokens"_a, "pooling"_a.none(),
          "normalize"_a.none(), "dimensions"_a, "batch_tokens"_a);
  nb::class_<LanguageModel>(m, "LanguageModel")
      .def_static(
          "load",
          [](const std::string &path, const std::string &device, bool fallback, uint32_t threads, size_t context) {
            const nb::gil_scoped_release released;
            return std::make_shared<LanguageModel>(path, instanceOptions(device, fallback, threads), context);
          },
          "path"_a, "device"_a, "fallback"_a, "threads"_a, "context"_a)
      .def("info", &languageModelInfo)
      .def("report_text", [](const LanguageModel &self) { return self.generator.instance().report(); })
      .def("report_json", [](const LanguageModel &self) { return self.generator.instance().report(VX_REPORT_JSON); })
      .def(
          "encode", [](const LanguageModel &self, const std::string &prompt) { return self.generator.encode(prompt); },
          "prompt"_a)
      .def("encode_chat", &LanguageModel::encode, "messages"_a)
      .def("embed", &embedTokens, "tokens"_a, "pooling"_a)
      .def(
          "start",
          [](const std::shared_ptr<LanguageModel> &self, const std::vector<int32_t> &prompt, size_t maxTokens,
             double temperature, size_t topK, double topP, double minP, uint64_t seed,
             const std::vector<std::string> &stop) {
            llm::GenerateOptions options;
            options.maxTokens = maxTokens;
            options.stop = stop;
            text::SamplingOptions &sampling = options.sampling;
            sampling.temperature = static_cast<decltype(sampling.temperature)>(temperature);
            sampling.top_k = static_cast<decltype(sampling.top_k)>(topK);
            sampling.top_p = static_cast<decltype(sampling.top_p)>(topP);
            sampling.min_p = static_cast<decltype(sampling.min_p)>(minP);
            sampling.seed = seed;
            return new AnswerStream(self, prompt, options);
          },
          "prompt"_a, "max_tokens"_a, "temperature"_a, "top_k"_a, "top_p"_a, "min_p"_a, "seed"_a, "stop"_a);
  nb::class_<AnswerStream>(m, "AnswerStream").def("next", &AnswerStream::next).def("answer", &AnswerStream::answer);
}
