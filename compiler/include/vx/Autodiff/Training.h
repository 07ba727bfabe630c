// The user's options that train a model: a loss of one of its outputs, and an optimizer.
#ifndef VX_AUTODIFF_TRAINING_H
#define VX_AUTODIFF_TRAINING_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vx {

/// NAME[:[OUTPUT][,key=value...]], e.g. "cross_entropy:logits,smoothing=0.1".
struct LossSpec {
  std::string name;
  std::string output;                  // empty: the model's only one
  bool isSoft = false;                 // cross_entropy: of a distribution instead of class numbers
  double smoothing = 0;                // cross_entropy
  std::optional<int64_t> ignoredIndex; // cross_entropy, nll: rows with this label do not count
  int64_t axis = -1;                   // cross_entropy, nll: of the classes
  double delta = 1;                    // huber
  std::vector<double> classWeights;    // cross_entropy, nll: one for each class; empty: all are 1
  bool takesWeights = false;           // an input `sample_weight` has the weight of each row

  /// None if the text is wrong, with the expected and the given value in `error`.
  static std::optional<LossSpec> parse(llvm::StringRef text, std::string &error);
  /// The same without the keys `class_weight` and `sample_weight`, which are refused.
  static std::optional<LossSpec> parseUnweighted(llvm::StringRef text, std::string &error);
  /// Whether an input holds class numbers and is called `label`; else it is called `target`, if there is one.
  bool takesLabels() const { return (name == "cross_entropy" && !isSoft) || name == "nll"; }
};

/// Parameters whose names match `pattern`, with a learning rate and a decay of their own.
struct ParameterGroup {
  std::string pattern;
  std::optional<double> rateFactor; // times the learning rate of the step
  std::optional<double> weightDecay;
};

/// NAME[:key=value...][;PATTERN:key=value...]..., e.g. "adamw:weight_decay=0.05,beta2=0.95;*.bias:weight_decay=0". The
/// defaults are PyTorch's.
struct OptimizerSpec {
  std::string name;
  // Of all keys, in the optimizer's order; then those of the groups, as "PATTERN:key", for `describe`.
  std::vector<std::pair<std::string, double>> values;
  std::optional<double> clipNorm, clipValue;
  std::vector<ParameterGroup> groups;

  static std::optional<OptimizerSpec> parse(llvm::StringRef text, std::string &error);
  /// The same without groups.
  static std::optional<OptimizerSpec> parseUngrouped(llvm::StringRef text, std::string &error);
  double get(llvm::StringRef key) const;
  /// "adamw:beta1=0.9,beta2=0.999,eps=1e-08,weight_decay=0.01,clip_norm=1"
  std::string describe() const;
};

/// Whether a name matches one of the patterns, and which: '*', '?' and '[a-z]' are as in file names.
class NamePatterns {
public:
  /// None if a pattern is not valid, with the reason in `error`.
  static std::optional<NamePatterns> parse(const std::vector<std::string> &patterns, std::string &error);
  bool match(llvm::StringRef name);
  /// Those that no name has matched.
  std::vector<std::string> getUnused() const;

private:
  std::vector<std::string> patterns;
  std::vector<bool> isUsed;
};

} // namespace vx

#endif
