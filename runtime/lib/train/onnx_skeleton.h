// The skeleton of an exported model (vx/abi/onnx_skeleton.h): what is read of it before anything is written.
#ifndef VX_TRAIN_ONNX_SKELETON_H
#define VX_TRAIN_ONNX_SKELETON_H

#include "model_bytes.h"
#include "vx/runtime/vx.h"
#include "vx/train/session.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace vx::train {

// The bytes of a skeleton with those of the module that it names. All of them are borrowed.
class OnnxSkeleton {
public:
  // Takes nothing on trust: each number and size is checked against what is there. False with a reason that follows
  // the module's name: "the skeleton has 7 bytes, its header needs 24".
  bool parse(std::span<const uint8_t> bytes, std::span<const vx_variable_info> variables,
             std::span<const vx_constant_info> constants, std::string &error);

  // Numbers of the variables whose elements the files have, each once.
  const std::vector<uint32_t> &variables() const { return used; }
  // Whether there is a file of weights beside the model's.
  bool hasWeightsFile() const { return !weights.empty(); }

  // The bytes of a file, piece by piece. `elements` gives those of a variable, as many as it has; `location` is the
  // plain name of the file of weights. False with a reason where the model would be larger than an ONNX file can be,
  // and for the form that infers where it is no model.
  using Elements = std::function<std::span<const uint8_t>(uint32_t variable)>;
  using Sink = std::function<void(std::span<const uint8_t>)>;
  bool writeModel(const std::string &location, ExportForm form, const Elements &elements, const Sink &sink,
                  std::string &error) const;
  void writeWeights(const Elements &elements, const Sink &sink) const;

private:
  enum class Kind { bytes, variable, location, length, zeros };
  struct Piece {
    Kind kind;
    uint32_t number; // of the variable; of the pieces whose length this is
    uint64_t size;   // but for a location and a length
    const uint8_t *data;
  };
  class Parser;
  static Segment segmentOf(const Piece &piece);
  static void write(const Segment &segment, const Elements &elements, const Sink &sink);

  std::vector<Piece> model, weights;
  std::vector<uint32_t> used;
};

} // namespace vx::train

#endif
