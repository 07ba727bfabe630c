// How serving fails.
#ifndef VX_SERVE_ERROR_HPP
#define VX_SERVE_ERROR_HPP

#include <stdexcept>
#include <string>

// What the shared library has for its users.
#if defined(__GNUC__)
#define VX_SERVE_API __attribute__((visibility("default")))
#else
#define VX_SERVE_API
#endif

namespace vx::serve {

// What went wrong, in one line that says what was wanted and what came. Failures of the runtime itself are vx::Error.
class VX_SERVE_API Error : public std::runtime_error {
public:
  enum class Kind {
    argument, // an argument or option that does not fit the model
    data,     // a file: missing, damaged, or of a model that cannot do what is asked
    io        // something could not be read, written or listened to
  };
  Error(Kind kind, const std::string &message) : std::runtime_error(message), what_kind(kind) {}
  Kind kind() const { return what_kind; }

private:
  Kind what_kind;
};

} // namespace vx::serve

#endif
