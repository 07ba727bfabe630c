// Writes the seeds of the fuzzer of GGUF files: gguf_seeds FOLDER.
#include "../common/gguf_vocabularies.h"

#include <cstdio>
#include <fstream>

using vx::GgufKind;
using vx::test::GgufWriter;

namespace {

GgufWriter everyKind(uint32_t version, uint32_t alignment) {
  GgufWriter writer(version, alignment);
  writer.add("text", "llama")
      .add<uint8_t>("u8", GgufKind::u8, 1)
      .add<int16_t>("i16", GgufKind::i16, -1)
      .add<float>("f32", GgufKind::f32, 1.5f)
      .add<uint8_t>("bool", GgufKind::boolean, 1)
      .add<int64_t>("i64", GgufKind::i64, -5)
      .add<double>("f64", GgufKind::f64, 0.1)
      .addArray<std::string>("strings", GgufKind::string, {"a", "", "bc"})
      .addArray<int32_t>("numbers", GgufKind::i32, {1, -2})
      .addArray<float>("none", GgufKind::f32, {})
      .addTensor("w", {3, 2}, 0, 24)
      .addTensor("q", {64, 2}, 3, 80)
      .addTensor("empty", {0}, 1, 0)
      .addTensor("scalar", {}, 30, 2);
  return writer;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: gguf_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = std::string(arguments[1]) + "/";
  const auto write = [&](const char *name, const std::string &bytes) {
    std::ofstream(folder + name, std::ios::binary) << bytes;
  };
  write("everything.gguf", everyKind(3, 32).bytes());
  write("version2.gguf", everyKind(2, 8).bytes());
  write("empty.gguf", GgufWriter().bytes());
  write("keys.gguf", GgufWriter().add("a", "b").add<uint32_t>("general.alignment", GgufKind::u32, 1).bytes());
  write("tensors.gguf", GgufWriter().addTensor("a", {32}, 8, 34).addTensor("b", {1, 1, 1, 1}, 24, 1).bytes());
  write("gpt2.gguf", vx::test::gpt2Vocabulary().bytes());
  write("llama-bpe.gguf", vx::test::gpt2Vocabulary("llama-bpe").bytes());
  write("falcon.gguf", vx::test::gpt2Vocabulary("falcon").bytes());
  write("llama.gguf", vx::test::llamaVocabulary(false).bytes());
  write("llama-bytes.gguf", vx::test::llamaVocabulary().bytes());
  write("bert.gguf", vx::test::bertVocabulary().bytes());
  write("t5.gguf", vx::test::t5Vocabulary().bytes());
  return 0;
}
