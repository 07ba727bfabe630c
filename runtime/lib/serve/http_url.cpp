#include "http_url.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace vx::serve {

std::optional<HttpUrl> parseHttpUrl(std::string_view text) {
  HttpUrl url;
  url.isSecure = text.starts_with("https://");
  if (!url.isSecure && !text.starts_with("http://"))
    return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; }) ||
      text.find_first_of("#\"<>\\^`{|}") != std::string_view::npos)
    return std::nullopt;
  std::string_view rest = text.substr(text.find("://") + 3);
  const size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, slash);
  url.target = rest.substr(slash);
  if (!url.target.starts_with('/'))
    url.target = "/" + url.target;
  url.authority = authority;
  const bool isBracketed = authority.starts_with('[');
  const size_t end =
      isBracketed ? std::min(authority.find(']'), authority.size()) : std::min(authority.find(':'), authority.size());
  if ((isBracketed && end == authority.size()) || authority.find('@') != std::string_view::npos)
    return std::nullopt;
  url.host = isBracketed ? authority.substr(1, end - 1) : authority.substr(0, end);
  const std::string_view port = authority.substr(isBracketed ? end + 1 : end);
  url.port = port.empty() ? (url.isSecure ? "443" : "80") : port.substr(1);
  uint16_t number = 0;
  const auto [last, error] = std::from_chars(url.port.data(), url.port.data() + url.port.size(), number);
  if (url.host.empty() || (!port.empty() && port[0] != ':') || error != std::errc() ||
      last != url.port.data() + url.port.size() || number == 0)
    return std::nullopt;
  return url;
}

} // namespace vx::serve
