// Who may ask, and how often.
#ifndef VX_SERVE_GATEKEEPER_H
#define VX_SERVE_GATEKEEPER_H

#include "http_message.h"
#include "service_error.h"
#include "trace.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace vx::serve {

class ServedModel;

struct Caller {
  std::string name; // of the key; empty: nobody in particular
  bool isAdmin = false;
};

// What is kept of a request from its header to its end. The name of its model may be asked for at any time; all else is
// of the thread that works on the request.
struct RequestNotes {
  Caller caller;
  std::vector<std::pair<std::string, std::string>> headers; // of rates and of its trace, for the answer
  std::chrono::steady_clock::time_point arrived = std::chrono::steady_clock::now();
  // The model that was loaded for it, which it has not taken yet.
  std::shared_ptr<ServedModel> loaded;
  std::shared_ptr<RequestTrace> trace; // null: the server has no traces

  void setModel(std::string name) {
    std::lock_guard guard(lock);
    model = std::move(name);
  }
  // That the request is for, where the server has it; else empty.
  std::string modelName() const {
    std::lock_guard guard(lock);
    return model;
  }

private:
  mutable std::mutex lock;
  std::string model;
};

class Gatekeeper {
public:
  virtual ~Gatekeeper() = default;
  // Throws ErrorCode::invalid_api_key, and ErrorCode::rate_limited for an address that guesses.
  virtual Caller identify(const HttpRequest &request) = 0;
  // Counts a request of the caller's. Throws ErrorCode::rate_limited, with when to come again.
  virtual void countRequest(RequestNotes &notes) = 0;
  // Counts tokens, before they are worked on. Throws as `countRequest`.
  virtual void countTokens(RequestNotes &notes, uint64_t tokens) = 0;
  // Whether there are keys at all.
  virtual bool hasKeys() const = 0;
};

} // namespace vx::serve

#endif
