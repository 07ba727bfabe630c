// How the training kit fails.
#ifndef VX_TRAIN_ERROR_HPP
#define VX_TRAIN_ERROR_HPP

#include <stdexcept>
#include <string>

// What the shared library has for its users.
#if defined(__GNUC__)
#define VX_TRAIN_API __attribute__((visibility("default")))
#else
#define VX_TRAIN_API
#endif

namespace vx::train {

// What went wrong, in one line that says what was wanted and what came. Failures of the runtime itself are vx::Error.
class VX_TRAIN_API Error : public std::runtime_error {
public:
  enum class Kind {
    argument, // an argument or option that does not fit the module, or a module that cannot do what is asked
    data,     // a data set or a file: missing, damaged, or of another model
    io        // something could not be written
  };
  Error(Kind kind, const std::string &message) : std::runtime_error(message), what_kind(kind) {}
  Kind kind() const { return what_kind; }

private:
  Kind what_kind;
};

} // namespace vx::train

#endif
