// Modules that are made without a compiler: see embed_kernels.c.
#ifndef VX_TEST_UNIT_SERVE_EMBEDDING_MODULE_H
#define VX_TEST_UNIT_SERVE_EMBEDDING_MODULE_H

#include <cstdint>
#include <string>

namespace vx::test {

struct ModuleOptions {
  bool joins = true; // it says that rows do not depend on one another, else that they may
  int64_t salt = 0;  // its numbers are those of no model with another one
  int64_t work = 0;  // how long a row takes, in steps of about a nanosecond
};

// Of the CPU, with embed_mean, which is the model's own, and embed_cls; vectors of four elements, texts of
// up to 16 tokens, and the words "a" to "z" after the five special tokens of BERT. Beside them `count_texts`, whose
// numbers tell how many texts run together. Gives the file's path.
std::string writeEmbeddingModule(const std::string &name, const ModuleOptions &options = {});

// Of the CPU, with `mix` and `mix_more`: rows of 'x', f32 of batch and width, by a 'table', f32 of any sizes that all
// rows of a call share. Gives the file's path.
std::string writeMixModule(const std::string &name, const ModuleOptions &options = {});

} // namespace vx::test

#endif
