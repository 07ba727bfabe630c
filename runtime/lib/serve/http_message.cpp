#include "http_message.h"

#include "vx/base/utf8.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>

namespace vx::serve {
namespace {

int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

std::string_view reasonPhrase(unsigned status) {
  switch (status) {
  case 100:
    return "Continue";
  case 200:
    return "OK";
  case 204:
    return "No Content";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 408:
    return "Request Timeout";
  case 409:
    return "Conflict";
  case 413:
    return "Content Too Large";
  case 415:
    return "Unsupported Media Type";
  case 429:
    return "Too Many Requests";
  case 431:
    return "Request Header Fields Too Large";
  case 500:
    return "Internal Server Error";
  case 503:
    return "Service Unavailable";
  case 504:
    return "Gateway Timeout";
  case 507:
    return "Insufficient Storage";
  default:
    return "Status";
  }
}

bool isHeaderText(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

} // namespace

const std::string *HttpRequest::header(std::string_view name) const {
  for (const auto &[key, value] : headers)
    if (key == name)
      return &value;
  return nullptr;
}

size_t HttpRequest::headerCount(std::string_view name) const {
  return static_cast<size_t>(
      std::count_if(headers.begin(), headers.end(), [&](const auto &h) { return h.first == name; }));
}

bool splitTarget(std::string_view target, std::string &path, std::string &query) {
  path.clear();
  query.clear();
  if (target.empty() || target[0] != '/')
    return false;
  const size_t mark = target.find('?');
  if (mark != std::string_view::npos)
    query = target.substr(mark + 1);
  const std::string_view encoded = target.substr(0, mark);
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      path += encoded[i];
      continue;
    }
    const int high = i + 2 < encoded.size() ? hexDigit(encoded[i + 1]) : -1;
    const int low = high >= 0 ? hexDigit(encoded[i + 2]) : -1;
    if (low < 0 || high * 16 + low == 0)
      return false;
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return vx::isUtf8(path);
}

bool isRequestId(std::string_view text) {
  const auto isPart = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), isPart);
}

std::string makeRequestId() {
  static const uint64_t process = [] {
    std::random_device device;
    return (uint64_t(device()) << 32) | device();
  }();
  static std::atomic<uint64_t> count = 0;
  return fmt::format("{:016x}-{:x}", process, ++count);
}

std::string mediaType(std::string_view contentType) {
  std::string type(contentType.substr(0, contentType.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t'))
    type.pop_back();
  for (char &c : type)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return type;
}

std::string responseHead(const HttpResponse &response, size_t length, std::string_view requestId, bool keepsAlive) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", response.status,
                                 reasonPhrase(response.status), fmt::gmtime(now));
  if (response.status != 204)
    head += fmt::format("Content-Length: {}\r\n", length);
  if (!response.contentType.empty())
    head += fmt::format("Content-Type: {}\r\n", response.contentType);
  if (!requestId.empty())
    head += fmt::format("x-request-id: {}\r\n", requestId);
  for (const auto &[name, value] : response.headers)
    if (isHeaderText(name) && isHeaderText(value))
      head += fmt::format("{}: {}\r\n", name, value);
  head += keepsAlive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

} // namespace vx::serve
