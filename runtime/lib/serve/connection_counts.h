// How many connections there are, and from where.
#ifndef VX_SERVE_CONNECTION_COUNTS_H
#define VX_SERVE_CONNECTION_COUNTS_H

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace vx::serve {

class ConnectionCounts {
public:
  ConnectionCounts(size_t all, size_t perAddress) : most(all), mostPerAddress(perAddress) {}

  // For those that come from now on.
  void setLimits(size_t all, size_t perAddress) {
    std::lock_guard guard(lock);
    most = all;
    mostPerAddress = perAddress;
  }

  // One more from `address`; false where that is one too many.
  bool add(const std::string &address) {
    std::lock_guard guard(lock);
    if (count >= most)
      return false;
    size_t &fromThere = byAddress[address];
    if (fromThere >= mostPerAddress)
      return false;
    ++fromThere;
    ++count;
    return true;
  }
  void remove(const std::string &address) {
    std::lock_guard guard(lock);
    --count;
    const auto place = byAddress.find(address);
    if (--place->second == 0)
      byAddress.erase(place);
  }
  size_t size() const {
    std::lock_guard guard(lock);
    return count;
  }

private:
  mutable std::mutex lock;
  size_t most, mostPerAddress;
  size_t count = 0;
  std::map<std::string, size_t> byAddress;
};

} // namespace vx::serve

#endif
