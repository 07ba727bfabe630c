#include "running_requests.h"

namespace vx::serve {

void RunningRequests::add(const std::shared_ptr<HttpExchange> &exchange) {
  std::lock_guard guard(lock);
  // Most are over soon: what is left of them goes now and then.
  if (++sinceSweep > entries.size() / 2 + 256) {
    std::erase_if(entries, [](const auto &entry) { return entry.second.expired(); });
    sinceSweep = 0;
  }
  entries.emplace(exchange->request.id, exchange);
}

std::vector<std::shared_ptr<HttpExchange>> RunningRequests::find(const std::string &id) {
  std::vector<std::shared_ptr<HttpExchange>> found;
  std::lock_guard guard(lock);
  const auto [begin, end] = entries.equal_range(id);
  for (auto entry = begin; entry != end; ++entry)
    if (auto exchange = entry->second.lock())
      found.push_back(std::move(exchange));
  return found;
}

size_t RunningRequests::size() const {
  std::lock_guard guard(lock);
  return entries.size();
}

} // namespace vx::serve
