// The requests that are being worked on, by the ids that their clients or the server gave them.
#ifndef VX_SERVE_RUNNING_REQUESTS_H
#define VX_SERVE_RUNNING_REQUESTS_H

#include "http_server.h"

#include <mutex>
#include <unordered_map>

namespace vx::serve {

// Thread-safe.
class RunningRequests {
public:
  void add(const std::shared_ptr<HttpExchange> &exchange);
  // Those of an id, which clients may give to several.
  std::vector<std::shared_ptr<HttpExchange>> find(const std::string &id);
  // Entries that are kept, of requests that are over too.
  size_t size() const;

private:
  mutable std::mutex lock;
  std::unordered_multimap<std::string, std::weak_ptr<HttpExchange>> entries;
  size_t sinceSweep = 0;
};

} // namespace vx::serve

#endif
