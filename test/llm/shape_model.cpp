// Writes a GGUF file of a large model's shape with random weights, the same bytes on each machine: for tests of speed
// and memory that need no trained model. It needs nothing but a compiler: c++ -std=c++20 -O2 -pthread shape_model.cpp
//
//   llm_shape_model SHAPE FILE.gguf [LAYERS [THREADS]]
//
// SHAPE is llama-7b, mistral-7b or small. LAYERS: fewer or more than the shape has; 0: those of the shape. THREADS: 0:
// one for each core. It prints "BYTES CHECKSUM", the size and a checksum of the tensors' bytes.
//
// Matrices are Q4_K and the head is Q6_K, as in files of Q4_K_M; norms are ones. Products of a matrix with a row of
// elements around 1 have elements around 1, and logits are around 3, so the two best are far apart most times. Tokens 0
// to 255 are the bytes of a text; the last one ends an answer.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

struct Shape {
  std::string_view name;
  uint32_t words, width, layers, heads, keyHeads, inner, context;
  float base; // of the rotary positions
};

constexpr Shape Shapes[] = {{"llama-7b", 32000, 4096, 32, 32, 32, 11008, 4096, 1e4f},
                            {"mistral-7b", 32768, 4096, 32, 32, 8, 14336, 32768, 1e6f},
                            {"small", 512, 512, 2, 8, 2, 768, 512, 1e4f}};

enum class Kind : uint32_t { f32 = 0, q4_k = 12, q6_k = 14 }; // numbers of GGUF

struct Tensor {
  std::string name;
  std::vector<uint64_t> dims; // the elements of a row first
  Kind kind;
  uint64_t offset = 0;
  uint64_t bytes() const {
    uint64_t elements = 1;
    for (const uint64_t dim : dims)
      elements *= dim;
    return kind == Kind::f32 ? elements * 4 : elements / 256 * blockBytes();
  }
  uint64_t blockBytes() const { return kind == Kind::f32 ? 4 : kind == Kind::q4_k ? 144 : 210; }
};

// Little-endian numbers and strings, as GGUF has them.
class Header {
public:
  template <typename T>
  void number(T value) {
    const size_t size = bytes.size();
    bytes.resize(size + sizeof value);
    std::memcpy(&bytes[size], &value, sizeof value);
  }
  void string(std::string_view text) {
    number<uint64_t>(text.size());
    bytes += text;
  }
  void key(std::string_view name, uint32_t kind) {
    string(name);
    number(kind);
    ++keys;
  }
  void add(std::string_view name, uint32_t value) {
    key(name, 4);
    number(value);
  }
  void add(std::string_view name, float value) {
    key(name, 6);
    number(value);
  }
  void add(std::string_view name, std::string_view value) {
    key(name, 8);
    string(value);
  }
  void addArray(std::string_view name, uint32_t kind, uint64_t count) {
    key(name, 9);
    number(kind);
    number(count);
  }
  std::string bytes;
  uint64_t keys = 0;
};

std::vector<Tensor> tensorsOf(const Shape &shape) {
  const uint64_t depth = shape.width / shape.heads, keyWidth = depth * shape.keyHeads;
  std::vector<Tensor> tensors = {{"token_embd.weight", {shape.width, shape.words}, Kind::q4_k}};
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    const std::string name = "blk." + std::to_string(layer) + ".";
    tensors.push_back({name + "attn_norm.weight", {shape.width}, Kind::f32});
    tensors.push_back({name + "attn_q.weight", {shape.width, shape.width}, Kind::q4_k});
    tensors.push_back({name + "attn_k.weight", {shape.width, keyWidth}, Kind::q4_k});
    tensors.push_back({name + "attn_v.weight", {shape.width, keyWidth}, Kind::q4_k});
    tensors.push_back({name + "attn_output.weight", {shape.width, shape.width}, Kind::q4_k});
    tensors.push_back({name + "ffn_norm.weight", {shape.width}, Kind::f32});
    tensors.push_back({name + "ffn_gate.weight", {shape.width, shape.inner}, Kind::q4_k});
    tensors.push_back({name + "ffn_up.weight", {shape.width, shape.inner}, Kind::q4_k});
    tensors.push_back({name + "ffn_down.weight", {shape.inner, shape.width}, Kind::q4_k});
  }
  tensors.push_back({"output_norm.weight", {shape.width}, Kind::f32});
  tensors.push_back({"output.weight", {shape.width, shape.words}, Kind::q6_k});
  uint64_t offset = 0;
  for (Tensor &tensor : tensors) {
    tensor.offset = offset;
    offset = (offset + tensor.bytes() + 31) / 32 * 32;
  }
  return tensors;
}

// The character that stands for a byte in GPT-2's vocabulary, in UTF-8.
std::string characterOf(unsigned byte) {
  const auto isPrinted = [](unsigned b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
  unsigned code = byte;
  if (!isPrinted(byte)) {
    code = 256;
    for (unsigned before = 0; before < byte; ++before)
      code += !isPrinted(before);
  }
  if (code < 128)
    return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
}

std::string headerOf(const Shape &shape, const std::vector<Tensor> &tensors) {
  Header keys;
  keys.add("general.architecture", "llama");
  keys.add("general.name", "random weights of the shape of " + std::string(shape.name));
  keys.add("general.file_type", 15u); // Q4_K_M
  keys.add("llama.vocab_size", shape.words);
  keys.add("llama.context_length", shape.context);
  keys.add("llama.embedding_length", shape.width);
  keys.add("llama.block_count", shape.layers);
  keys.add("llama.feed_forward_length", shape.inner);
  keys.add("llama.attention.head_count", shape.heads);
  keys.add("llama.attention.head_count_kv", shape.keyHeads);
  keys.add("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  keys.add("llama.rope.dimension_count", shape.width / shape.heads);
  keys.add("llama.rope.freq_base", shape.base);
  keys.add("tokenizer.ggml.model", "gpt2");
  keys.add("tokenizer.ggml.pre", "gpt-2");
  keys.addArray("tokenizer.ggml.tokens", 8, shape.words);
  for (uint32_t i = 0; i < shape.words; ++i)
    keys.string(i < 256 ? characterOf(i) : i == 256 ? "aa" : i == shape.words - 1 ? "<end>" : "w" + std::to_string(i));
  keys.addArray("tokenizer.ggml.token_type", 5, shape.words);
  for (uint32_t i = 0; i < shape.words; ++i)
    keys.number<int32_t>(i == shape.words - 1 ? 3 : 1);
  keys.addArray("tokenizer.ggml.merges", 8, 1);
  keys.string("a a");
  keys.add("tokenizer.ggml.eos_token_id", shape.words - 1);
  Header file;
  file.bytes = "GGUF";
  file.number<uint32_t>(3);
  file.number<uint64_t>(tensors.size());
  file.number(keys.keys);
  file.bytes += keys.bytes;
  for (const Tensor &tensor : tensors) {
    file.string(tensor.name);
    file.number(static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims)
      file.number(dim);
    file.number(static_cast<uint32_t>(tensor.kind));
    file.number(tensor.offset);
  }
  file.bytes.resize((file.bytes.size() + 31) / 32 * 32);
  return file.bytes;
}

uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

uint64_t seedOf(std::string_view name) {
  uint64_t seed = 0xcbf29ce484222325;
  for (const char c : name)
    seed = (seed ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return seed;
}

// An f16 number: one of the `count` from `least` on.
void setScale(uint8_t *place, unsigned least, unsigned count) {
  uint16_t bits;
  std::memcpy(&bits, place, 2);
  bits = static_cast<uint16_t>(least + bits % count);
  std::memcpy(place, &bits, 2);
}

// The bytes of blocks from number `first` on; the result depends on the tensor and on the number only.
void fill(const Tensor &tensor, uint64_t first, std::vector<uint8_t> &bytes) {
  const uint64_t size = tensor.blockBytes(), seed = seedOf(tensor.name);
  if (tensor.kind == Kind::f32) {
    const float one = 1;
    for (size_t i = 0; i < bytes.size(); i += 4)
      std::memcpy(&bytes[i], &one, 4);
    return;
  }
  // Weights are around 1 / 64, or more where rows are shorter; the table of embeddings has 64 times that. In q4_k a
  // weight is d * scale * q - dmin * min, where scale and min are 31.5 and q is 7.5 in the mean. So that the mean of
  // weights is 0, that of dmin is 7.5 times that of d: else all rows grow alike, and a text decides nothing.
  unsigned up = tensor.name == "token_embd.weight" ? 6 << 10 : 0;
  for (uint64_t width = tensor.dims[0]; width < 4096; width *= 4)
    up += 1 << 10;
  uint8_t words[216];
  for (size_t at = 0; at < bytes.size(); at += size, ++first) {
    for (uint64_t word = 0; word < 27; ++word) {
      const uint64_t random = mix(seed + (first * 27 + word + 1) * 0x9e3779b97f4a7c15);
      std::memcpy(words + word * 8, &random, 8);
    }
    std::memcpy(&bytes[at], words, size);
    if (tensor.kind == Kind::q4_k) {
      setScale(&bytes[at], 0x0400 + up, 256);     // 2^-14 to 1.25 times that
      setScale(&bytes[at + 2], 0x1000 + up, 112); // 2^-11 to 1.11 times that
    } else {
      for (size_t i = 192; i < 208; ++i)
        bytes[at + i] = static_cast<uint8_t>((bytes[at + i] & 0x3f) - 32);
      setScale(&bytes[at + 208], 0x087d + up, 256);
    }
  }
}

uint64_t checksum(const std::vector<uint8_t> &bytes, uint64_t place) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[i], std::min<size_t>(8, bytes.size() - i));
    sum += mix(word + (place + i) * 0x9e3779b97f4a7c15);
  }
  return sum;
}

void writeAt(int file, const void *bytes, size_t size, uint64_t offset) {
  const char *from = static_cast<const char *>(bytes);
  while (size) {
    const ssize_t written = pwrite(file, from, size, static_cast<off_t>(offset));
    if (written <= 0)
      throw std::runtime_error(std::string("cannot write the file: ") + std::strerror(written ? errno : ENOSPC));
    from += written, offset += static_cast<uint64_t>(written), size -= static_cast<size_t>(written);
  }
}

// Threads take parts of tensors in turns.
uint64_t writeTensors(const std::vector<Tensor> &tensors, int file, uint64_t begin, unsigned threads) {
  constexpr uint64_t PartBlocks = 1 << 15;
  struct Part {
    const Tensor *tensor;
    uint64_t first, count;
  };
  std::vector<Part> parts;
  for (const Tensor &tensor : tensors)
    for (uint64_t first = 0, all = tensor.bytes() / tensor.blockBytes(); first < all; first += PartBlocks)
      parts.push_back({&tensor, first, std::min(PartBlocks, all - first)});
  std::atomic<size_t> next = 0;
  std::atomic<uint64_t> sum = 0;
  std::mutex mutex;
  std::string problem;
  const auto work = [&] {
    try {
      std::vector<uint8_t> bytes;
      for (size_t i = next++; i < parts.size(); i = next++) {
        const auto &[tensor, first, count] = parts[i];
        bytes.resize(count * tensor->blockBytes());
        fill(*tensor, first, bytes);
        const uint64_t place = tensor->offset + first * tensor->blockBytes();
        sum += checksum(bytes, place);
        writeAt(file, bytes.data(), bytes.size(), begin + place);
      }
    } catch (const std::exception &error) {
      const std::lock_guard lock(mutex);
      problem = error.what();
    }
  };
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i)
    running.emplace_back(work);
  for (std::thread &thread : running)
    thread.join();
  if (!problem.empty())
    throw std::runtime_error(problem);
  return sum;
}

uint32_t numberOf(const char *text, uint32_t most) {
  char *end = nullptr;
  const unsigned long number = std::strtoul(text, &end, 10);
  if (!*text || *end || number > most)
    throw std::runtime_error("expected a number from 0 to " + std::to_string(most) + ", got '" + text + "'");
  return static_cast<uint32_t>(number);
}

void write(int count, char **arguments) {
  if (count < 3 || count > 5)
    throw std::runtime_error("usage: llm_shape_model SHAPE FILE.gguf [LAYERS [THREADS]]");
  Shape shape = {};
  for (const Shape &known : Shapes)
    if (known.name == arguments[1])
      shape = known;
  if (shape.name.empty())
    throw std::runtime_error("expected a shape llama-7b, mistral-7b or small, got '" + std::string(arguments[1]) + "'");
  if (const uint32_t layers = count > 3 ? numberOf(arguments[3], 1000) : 0)
    shape.layers = layers;
  unsigned threads = count > 4 ? numberOf(arguments[4], 1024) : 0;
  if (!threads)
    threads = std::max(1u, std::thread::hardware_concurrency());
  const std::vector<Tensor> tensors = tensorsOf(shape);
  const std::string header = headerOf(shape, tensors), path = arguments[2];
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0)
    throw std::runtime_error(path + ": cannot write: " + std::strerror(errno));
  try {
    writeAt(file, header.data(), header.size(), 0);
    const uint64_t sum = writeTensors(tensors, file, header.size(), threads);
    const uint64_t size = header.size() + tensors.back().offset + tensors.back().bytes();
    if (close(file) != 0)
      throw std::runtime_error(std::string("cannot write the file: ") + std::strerror(errno));
    std::cout << size << " " << std::hex << sum << std::endl;
  } catch (...) {
    unlink(path.c_str());
    throw;
  }
}

} // namespace

int main(int count, char **arguments) {
  static_assert(std::endian::native == std::endian::little);
  try {
    write(count, arguments);
  } catch (const std::exception &error) {
    std::cerr << "llm_shape_model: error: " << error.what() << std::endl;
    return 2;
  }
  return 0;
}
