// Which of several models a name means.
#ifndef VX_SERVE_MODEL_NAMES_H
#define VX_SERVE_MODEL_NAMES_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::serve {

struct ModelNames {
  std::string name; // "org/all-MiniLM-L6-v2"
  std::vector<std::string> aliases;
};

struct NameChoice {
  std::optional<size_t> index;   // of the model that is meant; of several with one name the first
  std::vector<std::string> also; // the names of those that are meant as well as each other
  // "model 'bge' is ambiguous: bge-small-en-v1.5, bge-base-en-v1.5", or "no model 'bgee', did you mean 'bge'"
  std::string problem;

  bool isAmbiguous() const { return !also.empty(); }
};

// By its name or an alias, by the part of it behind the last '/', by these in any case, or by what one of its words
// begins with: "minilm" is "org/all-MiniLM-L6-v2" where no other is meant as well. The first of these that fits counts.
NameChoice chooseModel(const std::vector<ModelNames> &models, std::string_view name);

} // namespace vx::serve

#endif
