// A module that trains, made without a compiler: see train_kernels.c.
#ifndef VX_TEST_UNIT_TRAIN_TRAINING_MODULE_H
#define VX_TEST_UNIT_TRAIN_TRAINING_MODULE_H

#include "module_builder.h"

#include <functional>
#include <string>
#include <vector>

namespace vx::test {

// train_step(x: f32[batch,4], label: i64[batch] of 0 to 2, rate, seed, scale) -> (loss, accuracy); evaluate(x, label)
// -> the same; predict(x) -> scores: f32[batch,3]; backward(x, label, seed, keep) -> (loss, accuracy); update(rate).
// Its variables: the parameters "w0" ("dense.weight" to the model) f32[3,4], which starts with random numbers, and
// "dense.bias" f32[3]; "momentum/dense.weight" and "momentum/dense.bias"; the counter "step"; and "grad/w0",
// "grad/dense.bias" and "grad.rows", which no checkpoint has.
void addTraining(ModuleBuilder &builder, int64_t fixedBatch = -1);

// Writes such a module, changed by `change`, to the scratch folder.
std::string writeTrainingModule(const std::string &name, const std::function<void(ModuleBuilder &)> &change = {},
                                int64_t fixedBatch = -1);

// Gives such a module a skeleton for exports: the length of what follows, "<", the elements of "w0", and ">"; or, with
// weights beside it, "<>" and the name of their file, which is the elements.
void addSkeleton(ModuleBuilder &builder, bool hasWeights);

// Rows that such a model can learn: the label is the largest of the first three numbers.
struct Rows {
  explicit Rows(int64_t count, uint64_t seed = 1);
  std::vector<float> x;
  std::vector<int64_t> label;
};

// A .npy file, version `major`.
std::vector<uint8_t> npyBytes(const std::string &header, const std::vector<uint8_t> &data, int major = 1);
void writeNpy(const std::string &path, const std::string &type, const std::vector<int64_t> &dims, const void *data,
              size_t size);

} // namespace vx::test

#endif
