// The errors of serving.
#ifndef VX_SERVE_ERROR_HPP
#define VX_SERVE_ERROR_HPP

#include <stdexcept>
#include <string>

// Marks the symbols that the shared library exports.
#if defined(__GNUC__)
#define VX_SERVE_API __attribute__((visibility("default")))
#else
#define VX_SERVE_API
#endif

namespace vx::serve {

// An error, as one line with the expected and the given value. Failures of the runtime itself are vx::Error.
class VX_SERVE_API Error : public std::runtime_error {
public:
  enum class Kind {
    argument, // an argument or option that does not fit the model
    data,     // a file: missing, damaged, or of a model without the feature asked for
    io        // reading, writing or listening failed
  };
  Error(Kind kind, const std::string &message) : std::runtime_error(message), what_kind(kind) {}
  Kind kind() const { return what_kind; }

private:
  Kind what_kind;
};

} // namespace vx::serve

#endif
