#include "http_client.h"

#include "tool_error.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace vx::tools {

// A server that says nothing for so long is none.
static constexpr timeval patience = {.tv_sec = 120, .tv_usec = 0};
static constexpr size_t mostBytes = size_t(1) << 30;

Endpoint::Endpoint(const std::string &url) {
  static constexpr std::string_view scheme = "http://";
  std::string_view rest = url;
  if (!rest.starts_with(scheme))
    throw usageError("--url: expected http://HOST:PORT, got '{}'", url);
  rest.remove_prefix(scheme.size());
  if (rest.ends_with('/'))
    rest.remove_suffix(1);
  authority = rest;
  const size_t colon = rest.rfind(':');
  const bool isBracketed = rest.starts_with('[');
  const size_t end = isBracketed ? rest.find(']') : std::min(colon, rest.size());
  if (end == std::string_view::npos || rest.find('/') != std::string_view::npos)
    throw usageError("--url: expected http://HOST:PORT, got '{}'", url);
  host = isBracketed ? rest.substr(1, end - 1) : rest.substr(0, end);
  const std::string_view behind = rest.substr(isBracketed ? end + 1 : end);
  port = behind.empty() ? "80" : behind.substr(1);
  uint16_t number = 0;
  const auto [last, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (host.empty() || (!behind.empty() && behind[0] != ':') || error != std::errc() ||
      last != port.data() + port.size() || number == 0)
    throw usageError("--url: expected http://HOST:PORT, got '{}'", url);
}

std::string HttpAnswer::header(std::string_view name) const {
  for (size_t line = head.find("\r\n"); line != std::string::npos; line = head.find("\r\n", line + 2)) {
    const std::string_view text = std::string_view(head).substr(line + 2);
    const bool isSame = text.size() > name.size() && text[name.size()] == ':' &&
                        std::equal(name.begin(), name.end(), text.begin(), [](char want, char got) {
                          return want == std::tolower(static_cast<unsigned char>(got));
                        });
    if (!isSame)
      continue;
    std::string_view value = text.substr(name.size() + 1, text.find("\r\n") - name.size() - 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    value = value.substr(0, value.find_last_not_of(" \t") + 1);
    return std::string(value);
  }
  return "";
}

std::string HttpConnection::format(std::string_view method, std::string_view path, std::string_view body,
                                   std::string_view more) const {
  std::string bytes = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", method, path, endpoint.authority);
  if (!key.empty())
    bytes += fmt::format("Authorization: Bearer {}\r\n", key);
  if (method != "GET")
    bytes += fmt::format("Content-Length: {}\r\n", body.size());
  return bytes.append(more).append("\r\n").append(body);
}

void HttpConnection::close() {
  if (socket >= 0)
    ::close(socket);
  socket = -1;
  received.clear();
}

void HttpConnection::connect() {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo *list = nullptr;
  if (const int code = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &list))
    throw ConnectionError(fmt::format("no address of '{}': {}", endpoint.host, ::gai_strerror(code)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(list, ::freeaddrinfo);
  int reason = 0;
  for (const addrinfo *address = list; address && socket < 0; address = address->ai_next) {
    const int candidate = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (candidate >= 0) {
      ::setsockopt(candidate, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
      ::setsockopt(candidate, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
      ::setsockopt(candidate, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (candidate >= 0 && ::connect(candidate, address->ai_addr, address->ai_addrlen) == 0) {
      socket = candidate;
      continue;
    }
    reason = errno;
    if (candidate >= 0)
      ::close(candidate);
  }
  if (socket < 0)
    throw ConnectionError(fmt::format("cannot connect to '{}': {}", endpoint.authority, std::strerror(reason)));
}

void HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0)
      throw ConnectionError(fmt::format("the connection broke: {}", std::strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void HttpConnection::receive() {
  char piece[16 << 10];
  ssize_t size = 0;
  do
    size = ::recv(socket, piece, sizeof(piece), 0);
  while (size < 0 && errno == EINTR);
  if (size < 0)
    throw ConnectionError(errno == EAGAIN || errno == EWOULDBLOCK
                              ? fmt::format("no answer in {} s", static_cast<long>(patience.tv_sec))
                              : fmt::format("the connection broke: {}", std::strerror(errno)));
  if (size == 0)
    throw ConnectionError("the server has closed the connection");
  received.append(piece, static_cast<size_t>(size));
  if (received.size() > mostBytes)
    throw ConnectionError(fmt::format("expected an answer of {} bytes at the most, got more", mostBytes));
}

HttpAnswer HttpConnection::ask(std::string_view request) {
  try {
    if (socket < 0)
      connect();
    send(request);
    size_t end = 0;
    while ((end = received.find("\r\n\r\n")) == std::string::npos)
      receive();
    HttpAnswer answer;
    answer.head = received.substr(0, end + 2);
    received.erase(0, end + 4);
    if (!answer.head.starts_with("HTTP/1.1 ") ||
        std::from_chars(answer.head.data() + 9, answer.head.data() + answer.head.size(), answer.status).ec !=
            std::errc())
      throw ConnectionError(fmt::format("expected an answer of HTTP/1.1, got '{}'", answer.head.substr(0, 40)));
    const std::string length = answer.header("content-length");
    size_t size = 0;
    const auto [last, error] = std::from_chars(length.data(), length.data() + length.size(), size);
    if (length.empty() || error != std::errc() || last != length.data() + length.size() || size > mostBytes)
      throw ConnectionError(
          fmt::format("expected an answer with a Content-Length up to {}, got '{}'", mostBytes, length));
    while (received.size() < size)
      receive();
    answer.body = received.substr(0, size);
    received.erase(0, size);
    if (answer.header("connection") == "close")
      close();
    return answer;
  } catch (...) {
    close();
    throw;
  }
}

} // namespace vx::tools
