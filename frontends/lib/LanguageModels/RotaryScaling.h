// The variants of rotary positions: how a model that was trained on short sequences turns the heads of long ones.
#ifndef VX_LIB_LANGUAGEMODELS_ROTARYSCALING_H
#define VX_LIB_LANGUAGEMODELS_ROTARYSCALING_H

#include "Rotary.h"
#include "vx/Frontend/Parts/ConfigFile.h"

namespace vx {

class GgufSettings;

/// What a variant changes.
struct RotaryBase {
  double theta = 10000;
  int64_t depth = 0;  // elements of a head
  int64_t turned = 0; // of these turn; of a config.json it follows from its keys
  int64_t context = 0;
  /// The longest sequence that the model was trained on first, where config.json has it beside the object.
  std::optional<double> original = std::nullopt;
};

/// By an object of config.json with "rope_type" that `path` leads to, keys with '.' between; null: of the default type.
/// `partial` of each head turns where the object does not say it. Errors are those of `config`.
Rotary readRotary(ConfigFile &config, llvm::StringRef path, const llvm::json::Value *value, double partial,
                  RotaryBase base, llvm::StringRef family);
/// By the keys "rope.scaling.*" and the tensors of factors of a GGUF file. Errors are those of `model`.
Rotary readRotary(ModelBuilder &model, GgufSettings &keys, const RotaryBase &base);

} // namespace vx

#endif
