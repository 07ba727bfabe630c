#include "server_client.h"

#include "tool_error.h"

namespace vx::tools {

Endpoint::Endpoint(const std::string &text, const std::string &key, const std::string &certificates)
    : key(key), certificates(certificates) {
  std::optional<serve::HttpUrl> given = serve::parseHttpUrl(text);
  if (!given || given->target != "/")
    throw usageError("--url: expected http://HOST:PORT or https://HOST:PORT, got '{}'", text);
  url = std::move(*given);
  if (!url.isSecure && !certificates.empty())
    throw usageError("--cacert: expected none for a server without TLS, got '{}' for '{}'", certificates, text);
}

static serve::HttpClient makeClient(const Endpoint &endpoint) {
  try {
    return serve::HttpClient(endpoint.url, {.certificates = endpoint.certificates});
  } catch (const ConnectionError &error) {
    throw fileError("--cacert: {}", error.what());
  }
}

HttpConnection::HttpConnection(const Endpoint &endpoint) : key(endpoint.key), client(makeClient(endpoint)) {}

std::string HttpConnection::format(std::string_view method, std::string_view path, std::string_view body,
                                   serve::HttpClient::Headers more) const {
  if (!key.empty())
    more.emplace_back("Authorization", "Bearer " + key);
  return client.format(method, path, body, more);
}

} // namespace vx::tools
