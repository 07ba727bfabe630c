// The training kit: data sets, schedules, callbacks, checkpoints, and a session that trains a module which vx-compile
// made for it. C++ over vx.h; needs no compiler. docs/training.md tells of it.
//
//   vx::train::Session run("digits.vxm");
//   auto train = vx::train::Dataset::npy({{"image", "train_x.npy"}, {"label", "train_y.npy"}});
//   auto history = run.fit(train, {.epochs = 100, .batch = 64, .schedule = vx::train::cosine(3e-3, 1e-5), .seed = 7,
//                                  .callbacks = {vx::train::log(), vx::train::checkpoint(10, "checkpoints")}});
//   run.save("digits.safetensors");
#ifndef VX_TRAIN_HPP
#define VX_TRAIN_HPP

#include "vx/train/callbacks.hpp"
#include "vx/train/dataset.hpp"
#include "vx/train/error.hpp"
#include "vx/train/history.hpp"
#include "vx/train/schedule.hpp"
#include "vx/train/session.hpp"

#endif
