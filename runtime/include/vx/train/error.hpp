// The errors of the training kit.
#ifndef VX_TRAIN_ERROR_HPP
#define VX_TRAIN_ERROR_HPP

#include <stdexcept>
#include <string>

// Marks the symbols that the shared library exports.
#if defined(__GNUC__)
#define VX_TRAIN_API __attribute__((visibility("default")))
#else
#define VX_TRAIN_API
#endif

namespace vx::train {

// An error, as one line with the expected and the given value. Failures of the runtime itself are vx::Error.
class VX_TRAIN_API Error : public std::runtime_error {
public:
  enum class Kind {
    argument, // an argument or option that does not fit the module, or a module without the feature asked for
    data,     // a data set or a file: missing, damaged, or of another model
    io        // writing failed
  };
  Error(Kind kind, const std::string &message) : std::runtime_error(message), what_kind(kind) {}
  Kind kind() const { return what_kind; }

private:
  Kind what_kind;
};

} // namespace vx::train

#endif
