// URLs of servers.
#ifndef VX_SERVE_HTTP_URL_H
#define VX_SERVE_HTTP_URL_H

#include <optional>
#include <string>
#include <string_view>

namespace vx::serve {

struct HttpUrl {
  bool isSecure = false;
  std::string host, port;
  std::string authority; // as it is in the URL, and in the Host header: "[::1]:8080"
  std::string target;    // "/v1/traces"; "/" if the URL has none

  std::string text() const { return (isSecure ? "https://" : "http://") + authority + target; }
};
// "https://HOST[:PORT][/PATH]". Nothing if it is no such URL, or has a user, a fragment, or characters outside of
// printable ASCII.
std::optional<HttpUrl> parseHttpUrl(std::string_view text);

} // namespace vx::serve

#endif
