#include "RotaryScaling.h"

#include "Families.h"
#include "GgufSettings.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstring>

namespace vx {

namespace {

/// The parameters of a variant, by their names in config.json.
class ScalingKeys {
public:
  virtual ~ScalingKeys() = default;
  /// A number above 0. A failure without the key, if there is no `otherwise`.
  virtual double getPositive(llvm::StringRef key, std::optional<double> otherwise = std::nullopt) = 0;
  virtual void fail(llvm::StringRef key, const std::string &expected) = 0;
};

class ConfigKeys : public ScalingKeys {
public:
  explicit ConfigKeys(ConfigFile &object) : object(object) {}
  double getPositive(llvm::StringRef key, std::optional<double> otherwise) override {
    return readPositive(object, key, otherwise);
  }
  void fail(llvm::StringRef key, const std::string &expected) override {
    const llvm::json::Value *value = object.lookup(key);
    object.fail("'" + key + "': expected " + expected + ", got " + (value ? showJson(*value) : "none"));
  }

private:
  ConfigFile &object;
};

class GgufKeys : public ScalingKeys {
public:
  explicit GgufKeys(GgufSettings &keys) : keys(keys) {}
  double getPositive(llvm::StringRef key, std::optional<double> otherwise) override {
    const std::string name = findName(key);
    if (!otherwise && !keys.has(name))
      keys.fail(name, "a number above 0");
    return keys.getPositive(name, otherwise.value_or(1));
  }
  void fail(llvm::StringRef key, const std::string &expected) override { keys.fail(findName(key), expected); }

private:
  static std::string findName(llvm::StringRef key) {
    return ("rope.scaling." + (key == "original_max_position_embeddings" ? "original_context_length" : key)).str();
  }
  GgufSettings &keys;
};

void applyNothing(ScalingKeys &, const RotaryBase &, Rotary &) {}

/// All pairs turn slower.
void applyLinear(ScalingKeys &keys, const RotaryBase &, Rotary &rotary) {
  const double factor = keys.getPositive("factor");
  for (double &frequency : rotary.frequencies)
    frequency /= factor;
}

/// As Llama 3.1 has it: a pair with a wavelength above `original` / `low` turns `factor` times slower, one below
/// `original` / `high` as it was, and between both it is a mean.
void applyLlama3(ScalingKeys &keys, const RotaryBase &, Rotary &rotary) {
  const double factor = keys.getPositive("factor"), low = keys.getPositive("low_freq_factor"),
               high = keys.getPositive("high_freq_factor"),
               original = keys.getPositive("original_max_position_embeddings");
  if (!(low < high))
    return keys.fail("low_freq_factor", "less than 'high_freq_factor', " + showJson(high));
  for (double &frequency : rotary.frequencies) {
    const double wavelength = 2 * M_PI / frequency;
    if (wavelength > original / low) {
      frequency /= factor;
    } else if (wavelength >= original / high) {
      const double share = (original / wavelength - low) / (high - low);
      frequency = (1 - share) * frequency / factor + share * frequency;
    }
  }
}

/// All variants.
struct Variant {
  llvm::StringLiteral name;     // in config.json
  llvm::StringLiteral ggufName; // of "rope.scaling.type"; empty: no GGUF file has it
  void (*apply)(ScalingKeys &keys, const RotaryBase &base, Rotary &rotary);
};
constexpr Variant kVariants[] = {
    {"default", "none", applyNothing}, {"linear", "linear", applyLinear}, {"llama3", "", applyLlama3}};

/// Null for a name that no variant has; `known` is set to the list of names for messages.
const Variant *findVariant(llvm::StringLiteral Variant::*kind, llvm::StringRef name, std::string &known) {
  known.clear();
  for (const Variant &variant : kVariants) {
    const llvm::StringRef own = variant.*kind;
    if (own.empty())
      continue;
    if (own == name)
      return &variant;
    known += (known.empty() ? "one of " : ", ") + own.str();
  }
  return nullptr;
}

/// The factors that Llama 3's pairs turn slower by, which its GGUF files have as a tensor.
void applyFactors(ModelBuilder &model, Rotary &rotary) {
  const StoredTensor *factors = model.weights.find("rope_freqs.weight");
  if (!factors)
    return;
  const int64_t count = static_cast<int64_t>(rotary.frequencies.size());
  if (factors->type != "f32" || factors->dims != std::vector<int64_t>{count})
    return model.fail(model.weights.getName() + ": tensor 'rope_freqs.weight': expected f32[" + llvm::Twine(count) +
                      "], got " + factors->type + " of " + llvm::Twine(factors->dims.size()) + " dimensions");
  for (size_t i = 0; i < rotary.frequencies.size(); ++i) {
    float factor;
    std::memcpy(&factor, factors->bytes.data() + i * sizeof(factor), sizeof(factor));
    if (!(factor > 0 && factor < 1e30f))
      return model.fail(model.weights.getName() + ": tensor 'rope_freqs.weight': expected numbers above 0, got " +
                        std::to_string(factor) + " at place " + llvm::Twine(i));
    rotary.frequencies[i] /= factor;
  }
}

} // namespace

Rotary readRotary(ConfigFile &config, const std::string &name, const llvm::json::Value *value, double partial,
                  RotaryBase base, llvm::StringRef family) {
  if (value && value->kind() != llvm::json::Value::Null && !value->getAsObject()) {
    config.fail(name + ": expected an object, got " + showJson(*value));
    return {};
  }
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  ConfigFile rope(config.getName() + ": " + name, object ? *object : llvm::json::Object());
  base.theta = readPositive(rope, "rope_theta", base.theta);
  partial = readPositive(rope, "partial_rotary_factor", partial);
  base.turned = static_cast<int64_t>(double(base.depth) * std::min(partial, 1.0));
  if (base.turned < 2 || base.turned % 2 != 0)
    config.fail("expected an even number of elements of a head that turn, got " + llvm::Twine(base.turned) + " of " +
                llvm::Twine(base.depth));
  Rotary rotary{computeFrequencies(base.theta, base.turned)};
  const std::optional<std::string> stated = rope.getString("rope_type"), old = rope.getString("type");
  const std::string type = stated ? *stated : old.value_or("default");
  std::string known;
  ConfigKeys keys(rope);
  if (const Variant *variant = findVariant(&Variant::name, type, known))
    variant->apply(keys, base, rotary);
  else
    rope.fail("'rope_type': expected " + known + ", got \"" + type + "\"");
  rope.expectAllRead({}, "the family " + family.str());
  if (llvm::Error error = rope.takeError())
    config.fail(llvm::StringRef(llvm::toString(std::move(error))).split(": ").second);
  return rotary;
}

Rotary readRotary(ModelBuilder &model, GgufSettings &settings, const RotaryBase &base) {
  Rotary rotary{computeFrequencies(base.theta, base.turned)};
  // Facts about how the model was trained and converted.
  for (llvm::StringRef key : {"rope.scaling.original_context_length", "rope.scaling.finetuned"})
    (void)settings.lookup(key);
  std::string known;
  GgufKeys keys(settings);
  const Variant *variant =
      findVariant(&Variant::ggufName, settings.getString("rope.scaling.type").value_or("none"), known);
  if (variant)
    variant->apply(keys, base, rotary);
  else
    settings.fail("rope.scaling.type", known);
  applyFactors(model, rotary);
  return rotary;
}

} // namespace vx
