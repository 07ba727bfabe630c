// A module of embeddings, made without a compiler: see embed_kernels.c.
#ifndef VX_TEST_UNIT_SERVE_EMBEDDING_MODULE_H
#define VX_TEST_UNIT_SERVE_EMBEDDING_MODULE_H

#include <string>

namespace vx::test {

// Of the CPU, with embed_mean, which is the model's own, and embed_cls; vectors of four elements, texts of up to 16
// tokens, and the words "a" to "z" after the five special tokens of BERT. Beside them `count_texts`, whose numbers tell
// how many texts run together. With `joins` it says that rows of the two do not depend on one another, else that they
// may. Gives the file's path.
std::string writeEmbeddingModule(const std::string &name, bool joins = true);

} // namespace vx::test

#endif
