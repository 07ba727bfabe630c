// Answers a test's questions with llama.cpp, whose library it is linked with by llama_cpp.py: no part of vx's build.
//
//   llama_cpp_peer MODEL CONTEXT LOGITS [exact]   answers the lines of standard input, a line each:
//
//     prefill ID...           appends the logits of every token to the file LOGITS, f32, and prints "done ROWS"
//     steps FIRST ID...       the same, of the tokens from FIRST on: the ones before them are one batch, they are one
//     each greedy COUNT ID...      prints "tokens" and COUNT times ID:MARGIN, the most likely token and the distance of
//     its
//                             logit from the second one; the end of an answer is a token as others are
//     tokens BEGIN SPECIAL HEX prints "tokens ID...", of a text as hexadecimal digits; BEGIN is 1 for the tokens at the
//                             beginning of a text, SPECIAL 1 if a special token that the text spells is that token
//
//   llama_cpp_peer --f32 MODEL OUT           writes the model with all weights in F32, as llama-quantize does
//
// With "exact" products of weights in blocks take activations in F32, as they do in a file of the same weights in F32;
// else llama.cpp rounds activations to 8 bits. Keys and values are cached in F32, attention is computed without the
// fused kernel and weights are not packed again.
#include "ggml-cpu.h"
#include "llama.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace {

template <typename T, void (*release)(T *)>
struct Release {
  void operator()(T *pointer) const { release(pointer); }
};
using Model = std::unique_ptr<llama_model, Release<llama_model, llama_model_free>>;
using Context = std::unique_ptr<llama_context, Release<llama_context, llama_free>>;

void printErrors(ggml_log_level level, const char *text, void *) {
  if (level == GGML_LOG_LEVEL_ERROR)
    std::cerr << text;
}

// The product of a row of weights in blocks and of activations in F32. A thread has the last rows as numbers, since
// their products with several tokens are computed in turns.
template <ggml_type type>
void multiplyExactly(int count, float *result, size_t, const void *weights, size_t, const void *activations, size_t,
                     int) {
  struct Row {
    const void *weights = nullptr;
    std::vector<float> numbers;
  };
  thread_local std::array<Row, 64> rows;
  const size_t size = ggml_row_size(type, count);
  Row &row = rows[reinterpret_cast<uintptr_t>(weights) / size % rows.size()];
  if (row.weights != weights || row.numbers.size() != static_cast<size_t>(count)) {
    row.numbers.resize(static_cast<size_t>(count));
    ggml_get_type_traits(type)->to_float(weights, row.numbers.data(), count);
    row.weights = weights;
  }
  const float *a = row.numbers.data(), *b = static_cast<const float *>(activations);
  std::array<float, 32> sums = {};
  for (int i = 0; i < count; i += 32) // blocks have 32 elements or more
    for (size_t lane = 0; lane < sums.size(); ++lane)
      sums[lane] += a[static_cast<size_t>(i) + lane] * b[static_cast<size_t>(i) + lane];
  double sum = 0;
  for (const float lane : sums)
    sum += lane;
  *result = static_cast<float>(sum);
}

// ggml has its functions for a type in a table that is constant.
template <ggml_type type>
void makeExact() {
  auto *traits = const_cast<ggml_type_traits_cpu *>(ggml_get_type_traits_cpu(type));
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)),
             begin = reinterpret_cast<uintptr_t>(traits) / page * page, end = reinterpret_cast<uintptr_t>(traits + 1);
  if (mprotect(reinterpret_cast<void *>(begin), end - begin, PROT_READ | PROT_WRITE) != 0)
    throw std::runtime_error("the table of ggml's types cannot be written");
  traits->vec_dot = multiplyExactly<type>;
  traits->vec_dot_type = GGML_TYPE_F32;
  traits->nrows = 1;
}

class Peer {
public:
  Peer(const std::string &path, uint32_t room, const std::string &logits, bool isExact)
      : file(logits, std::ios::binary) {
    llama_model_params options = llama_model_default_params();
    options.n_gpu_layers = 0;
    options.use_extra_bufts = false;
    model.reset(llama_model_load_from_file(path.c_str(), options));
    if (!model)
      throw std::runtime_error("llama.cpp cannot load " + path);
    words = llama_model_get_vocab(model.get());
    llama_context_params sizes = llama_context_default_params();
    sizes.n_ctx = sizes.n_batch = sizes.n_ubatch = room;
    if (isExact) // more tokens take a kernel that knows activations of 8 bits only
      sizes.n_ubatch = 4;
    sizes.n_threads = sizes.n_threads_batch = static_cast<int32_t>(std::max(1u, std::thread::hardware_concurrency()));
    sizes.type_k = sizes.type_v = GGML_TYPE_F32;
    sizes.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    context.reset(llama_init_from_model(model.get(), sizes));
    if (!context)
      throw std::runtime_error("llama.cpp makes no context of " + std::to_string(room) + " tokens");
  }

  std::string answer(const std::string &line) {
    std::istringstream question(line);
    std::string kind;
    question >> kind;
    if (kind == "tokens") {
      int begins = 0, special = 0;
      std::string digits, text;
      question >> begins >> special >> digits;
      for (size_t i = 0; i + 1 < digits.size(); i += 2)
        text += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
      return encode(text, begins != 0, special != 0);
    }
    size_t count = 0;
    if (kind == "greedy" || kind == "steps")
      question >> count;
    std::vector<llama_token> ids;
    for (llama_token id = 0; question >> id;)
      ids.push_back(id);
    if (ids.empty())
      throw std::runtime_error("expected tokens: " + line);
    llama_memory_clear(llama_get_memory(context.get()), true);
    if (kind == "greedy")
      return greedy(count, ids);
    if (kind != "prefill" && kind != "steps")
      throw std::runtime_error("no question is " + kind);
    if (kind == "prefill") {
      decode(ids, true);
      for (size_t i = 0; i < ids.size(); ++i)
        write(static_cast<int32_t>(i));
      return "done " + std::to_string(ids.size());
    }
    if (count > 0)
      decode({ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count)}, false);
    for (size_t i = count; i < ids.size(); ++i) {
      decode({ids[i]}, false);
      write(-1);
    }
    return "done " + std::to_string(ids.size() - count);
  }

private:
  // Tokens after those of the memory; the logits of all of them, or of the last.
  void decode(std::vector<llama_token> ids, bool all) {
    std::vector<int8_t> outputs(ids.size(), all ? 1 : 0);
    outputs.back() = 1;
    llama_batch batch = llama_batch_get_one(ids.data(), static_cast<int32_t>(ids.size()));
    batch.logits = outputs.data();
    if (const int32_t code = llama_decode(context.get(), batch); code != 0)
      throw std::runtime_error("llama_decode of " + std::to_string(ids.size()) + " tokens returns " +
                               std::to_string(code));
  }

  void write(int32_t place) {
    const float *row = llama_get_logits_ith(context.get(), place);
    const auto size = static_cast<std::streamsize>(sizeof(float)) * llama_vocab_n_tokens(words);
    if (!row || !file.write(reinterpret_cast<const char *>(row), size).flush())
      throw std::runtime_error("the logits cannot be written");
  }

  std::string greedy(size_t count, const std::vector<llama_token> &ids) {
    std::ostringstream answer;
    answer << "tokens";
    decode(ids, false);
    for (size_t i = 0; i < count; ++i) {
      const float *row = llama_get_logits_ith(context.get(), -1);
      llama_token best = row[1] > row[0] ? 1 : 0, second = 1 - best;
      for (llama_token id = 2; id < llama_vocab_n_tokens(words); ++id)
        if (row[id] > row[best])
          second = std::exchange(best, id);
        else if (row[id] > row[second])
          second = id;
      answer << " " << best << ":" << row[best] - row[second];
      if (i + 1 < count)
        decode({best}, false);
    }
    return answer.str();
  }

  std::string encode(const std::string &text, bool begins, bool special) {
    std::vector<llama_token> ids(text.size() + 8);
    const int32_t count = llama_tokenize(words, text.data(), static_cast<int32_t>(text.size()), ids.data(),
                                         static_cast<int32_t>(ids.size()), begins, special);
    if (count < 0)
      throw std::runtime_error("llama_tokenize returns " + std::to_string(count));
    std::string answer = "tokens";
    for (int32_t i = 0; i < count; ++i)
      answer += " " + std::to_string(ids[static_cast<size_t>(i)]);
    return answer;
  }

  std::ofstream file;
  Model model;
  Context context;
  const llama_vocab *words = nullptr;
};

void writeF32(const char *path, const char *out) {
  llama_model_quantize_params options = llama_model_quantize_default_params();
  options.ftype = LLAMA_FTYPE_ALL_F32;
  options.allow_requantize = true;
  if (const uint32_t code = llama_model_quantize(path, out, &options); code != 0)
    throw std::runtime_error("llama_model_quantize of " + std::string(path) + " returns " + std::to_string(code));
}

} // namespace

int main(int argc, char **argv) {
  const bool isExact = argc == 5 && std::string(argv[4]) == "exact";
  if (argc != 4 && !isExact) {
    std::cerr << "usage: llama_cpp_peer MODEL CONTEXT LOGITS [exact] | --f32 MODEL OUT\n";
    return 2;
  }
  llama_log_set(printErrors, nullptr);
  llama_backend_init();
  try {
    if (std::string(argv[1]) == "--f32") {
      writeF32(argv[2], argv[3]);
      return 0;
    }
    if (isExact) {
      makeExact<GGML_TYPE_Q4_K>();
      makeExact<GGML_TYPE_Q6_K>();
    }
    Peer peer(argv[1], static_cast<uint32_t>(std::atoll(argv[2])), argv[3], isExact);
    for (std::string line; std::getline(std::cin, line);)
      std::cout << peer.answer(line) << std::endl;
  } catch (const std::exception &error) {
    std::cerr << "llama_cpp_peer: error: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
