// Requests to a hub of models, as huggingface.co is one.
#ifndef VX_TOOLS_MODEL_HUB_HUB_CLIENT_H
#define VX_TOOLS_MODEL_HUB_HUB_CLIENT_H

#include "curl_library.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace vx::tools {

// What has come for one request, redirects followed.
struct HubAnswer {
  unsigned status = 0; // 0: no answer, see `failure`
  // Names in lower case. Those of redirects of the hub itself are there too, since they tell of the file; other
  // servers' cannot replace them.
  std::map<std::string, std::string> headers;
  std::string body;    // of an answer that no receiver took
  std::string failure; // why the connection ended before the answer did: "Connection refused"; empty: it did not

  std::string header(const std::string &name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class HubClient {
public:
  // `url` is "https://HOST[:PORT][/PATH]" without a slash at the end. The token may be empty; it goes to the hub's own
  // scheme, host and port alone.
  HubClient(std::string url, std::string token);

  // Called once when an answer of 200 or 206 begins, whose bytes go to `receive` then. Both return false, with a reason
  // that they store, to end the transfer.
  struct Receiver {
    std::function<bool(const HubAnswer &answer)> begin;
    std::function<bool(const char *bytes, size_t size)> receive;
  };
  // GET of a path of the hub, "/api/models/a/b", from an offset of bytes on. Throws workError for a redirect that is
  // not followed, and for more than 10 of them. Without a receiver the body may have 64 MiB.
  HubAnswer get(const std::string &path, uint64_t offset = 0, const Receiver *receiver = nullptr) const;
  const std::string &url() const { return base; }

private:
  HubAnswer getOne(const std::string &url, bool withToken, uint64_t offset, const Receiver *receiver) const;

  const CurlLibrary &curl;
  const std::string base, token;
  std::string origin, certificates;
};

} // namespace vx::tools

#endif
