// How many bytes of requests and answers are held, and whose they are.
#ifndef VX_SERVE_BYTE_BUDGET_H
#define VX_SERVE_BYTE_BUDGET_H

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace vx::serve {

// Thread-safe.
class ByteBudget {
public:
  struct Limits {
    uint64_t all = 0, ofAddress = 0, ofAccount = 0;
  };

  // Counts `more` bytes in all, and in the shares of an address and of an account, which is nobody's where it is empty.
  // Where one would have too many it counts nothing, and tells whose they are: "64 bytes of this key are in flight".
  std::string add(uint64_t more, const std::string &address, const std::string &account, const Limits &limits) {
    if (more == 0)
      return "";
    std::lock_guard guard(lock);
    const auto isTooMuch = [&](uint64_t held, uint64_t most) { return held > most || more > most - held; };
    if (isTooMuch(total, limits.all))
      return fmt::format("{} bytes of all clients are in flight", total);
    if (const uint64_t held = heldBy(addresses, address); isTooMuch(held, limits.ofAddress))
      return fmt::format("{} bytes of this address are in flight", held);
    if (const uint64_t held = heldBy(accounts, account); !account.empty() && isTooMuch(held, limits.ofAccount))
      return fmt::format("{} bytes of this key are in flight", held);
    total += more;
    addresses[address] += more;
    if (!account.empty())
      accounts[account] += more;
    return "";
  }
  void remove(uint64_t bytes, const std::string &address, const std::string &account) {
    if (bytes == 0)
      return;
    std::lock_guard guard(lock);
    total -= bytes;
    take(addresses, address, bytes);
    if (!account.empty())
      take(accounts, account, bytes);
  }
  uint64_t all() const {
    std::lock_guard guard(lock);
    return total;
  }

private:
  using Shares = std::map<std::string, uint64_t>;
  static uint64_t heldBy(const Shares &shares, const std::string &name) {
    const auto place = shares.find(name);
    return place == shares.end() ? 0 : place->second;
  }
  static void take(Shares &shares, const std::string &name, uint64_t bytes) {
    const auto place = shares.find(name);
    if (place->second -= bytes; place->second == 0)
      shares.erase(place);
  }

  mutable std::mutex lock;
  uint64_t total = 0;
  Shares addresses, accounts;
};

} // namespace vx::serve

#endif
