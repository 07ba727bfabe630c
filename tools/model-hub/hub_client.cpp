#include "hub_client.h"

#include "tool_error.h"

#include "http_url.h"
#include "vx/base/printable.h"
#include "vx/base/string_functions.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace vx::tools {
namespace {

constexpr int mostRedirects = 10;
constexpr size_t mostBody = size_t(64) << 20;
constexpr size_t mostHeaderBytes = 64 << 10;

// Of one request without its redirects.
struct Transfer {
  const CurlLibrary &curl;
  void *handle;
  const HubClient::Receiver *receiver;
  HubAnswer answer = {};
  size_t headerBytes = 0;
  bool hasBegun = false, isTaken = false;

  bool takeHeader(std::string_view line) {
    headerBytes += line.size();
    if (headerBytes > mostHeaderBytes)
      return false;
    if (line.starts_with("HTTP/")) { // another one follows an answer of 100
      answer.headers.clear();
      return true;
    }
    const size_t colon = line.find(':');
    if (colon == line.npos)
      return true;
    std::string_view value = line.substr(colon + 1);
    const size_t first = value.find_first_not_of(" \t"), last = value.find_last_not_of(" \t\r\n");
    value = first == value.npos ? "" : value.substr(first, last - first + 1);
    answer.headers[vx::toLowerCase(std::string(line.substr(0, colon)))] = value;
    return true;
  }

  void readStatus() {
    long status = 0;
    curl.getInfo(handle, CurlLibrary::responseCode, &status);
    answer.status = static_cast<unsigned>(status);
  }

  bool takeBody(const char *bytes, size_t size) {
    if (!std::exchange(hasBegun, true)) {
      readStatus();
      isTaken = receiver && (answer.status == 200 || answer.status == 206);
      if (isTaken && !receiver->begin(answer))
        return false;
    }
    if (isTaken)
      return receiver->receive(bytes, size);
    if (answer.body.size() + size > mostBody)
      return false;
    answer.body.append(bytes, size);
    return true;
  }

  static size_t receiveHeader(char *bytes, size_t size, size_t count, void *data) {
    return static_cast<Transfer *>(data)->takeHeader({bytes, size * count}) ? size * count : 0;
  }
  static size_t receiveBody(char *bytes, size_t size, size_t count, void *data) {
    return static_cast<Transfer *>(data)->takeBody(bytes, size * count) ? size * count : 0;
  }
};

// "https://host:443", by which a server is identified. Empty where it is no URL.
std::string originOf(const std::string &url) {
  const std::optional<serve::HttpUrl> parsed = serve::parseHttpUrl(url.substr(0, url.find('#')));
  if (!parsed)
    return "";
  return fmt::format("{}://{}:{}", parsed->isSecure ? "https" : "http", vx::toLowerCase(parsed->host), parsed->port);
}

// Where a redirect leads.
std::string resolve(const std::string &from, const std::string &location) {
  const size_t colon = location.find(':');
  if (colon != location.npos && colon < location.find_first_of("/?#")) // of any scheme
    return location;
  const size_t scheme = from.find("://");
  if (location.starts_with("//"))
    return from.substr(0, scheme + 1) + location;
  const size_t path = from.find('/', scheme + 3);
  if (location.starts_with('/'))
    return from.substr(0, path) + location;
  const std::string whole = from.substr(0, from.find_first_of("?#"));
  return whole.substr(0, whole.rfind('/') + 1) + location;
}

} // namespace

HubClient::HubClient(std::string url, std::string given)
    : curl(openCurl()), base(std::move(url)), token(std::move(given)), origin(originOf(base)) {
  if (origin.empty())
    throw usageError("VX_HUB_URL: expected a URL such as https://huggingface.co, got '{}'", vx::printableLine(base));
  if (token.find_first_of("\r\n") != token.npos)
    throw usageError("HF_TOKEN: expected one line, got several");
  if (const char *file = std::getenv("SSL_CERT_FILE"); file && *file)
    certificates = file;
}

HubAnswer HubClient::getOne(const std::string &url, bool withToken, uint64_t offset, const Receiver *receiver) const {
  const std::unique_ptr<void, void (*)(void *)> handle(curl.easyInit(), curl.easyCleanup);
  if (!handle)
    throw workError("pull: libcurl has no memory");
  void *lines = curl.appendLine(nullptr, "Accept-Encoding: identity");
  if (withToken)
    lines = curl.appendLine(lines, ("Authorization: Bearer " + token).c_str());
  // By a line of our own: libcurl takes an answer without the range for an error.
  if (offset > 0)
    lines = curl.appendLine(lines, fmt::format("Range: bytes={}-", offset).c_str());
  const std::unique_ptr<void, void (*)(void *)> list(lines, curl.releaseList);
  char error[CurlLibrary::errorSize] = {};
  Transfer transfer{curl, handle.get(), receiver};
  const auto set = [&](CurlLibrary::Option option, auto value) {
    if (const int code = curl.setOption(handle.get(), option, value); code != CurlLibrary::done)
      throw workError("pull: libcurl refuses option {}: {}", static_cast<int>(option), curl.describe(code));
  };
  set(CurlLibrary::noSignal, 1L);
  set(CurlLibrary::followLocation, 0L);
  set(CurlLibrary::lowSpeedLimit, 1L);
  set(CurlLibrary::lowSpeedTime, 30L);
  set(CurlLibrary::connectTimeout, 30L);
  set(CurlLibrary::protocols, 3L);
  set(CurlLibrary::url, url.c_str());
  set(CurlLibrary::userAgent, "vx-models");
  set(CurlLibrary::errorBuffer, error);
  set(CurlLibrary::httpHeader, list.get());
  set(CurlLibrary::writeFunction, CurlLibrary::Receive(&Transfer::receiveBody));
  set(CurlLibrary::writeData, static_cast<void *>(&transfer));
  set(CurlLibrary::headerFunction, CurlLibrary::Receive(&Transfer::receiveHeader));
  set(CurlLibrary::headerData, static_cast<void *>(&transfer));
  if (!certificates.empty())
    set(CurlLibrary::certificateFile, certificates.c_str());
  const int code = curl.perform(handle.get());
  transfer.readStatus();
  if (code != CurlLibrary::done)
    transfer.answer.failure = *error ? error : curl.describe(code);
  else if (!transfer.hasBegun && receiver && (transfer.answer.status == 200 || transfer.answer.status == 206))
    receiver->begin(transfer.answer); // a file without bytes
  return std::move(transfer.answer);
}

HubAnswer HubClient::get(const std::string &path, uint64_t offset, const Receiver *receiver) const {
  std::string url = base + path;
  std::map<std::string, std::string> told; // by the hub
  for (int redirects = 0;; ++redirects) {
    const bool isHub = originOf(url) == origin;
    // A receiver gets the hub's headers too.
    Receiver own;
    if (receiver) {
      own = *receiver;
      own.begin = [&](const HubAnswer &answer) {
        HubAnswer all = answer;
        for (const auto &[name, value] : told)
          all.headers[name] = value;
        return receiver->begin(all);
      };
    }
    HubAnswer answer = getOne(url, isHub && !token.empty(), offset, receiver ? &own : nullptr);
    if (isHub)
      for (const char *name : {"x-linked-etag", "x-linked-size", "x-repo-commit", "etag"})
        if (const std::string value = answer.header(name); !value.empty())
          told[name] = value;
    const std::string location = answer.header("location");
    const bool isRedirect = answer.status == 301 || answer.status == 302 || answer.status == 303 ||
                            answer.status == 307 || answer.status == 308;
    if (!isRedirect || location.empty()) {
      for (const auto &[name, value] : told)
        answer.headers[name] = value;
      if (!isHub && !told.contains("etag"))
        answer.headers.erase("etag"); // another server's means something else
      return answer;
    }
    const std::string next = resolve(url, location);
    if (originOf(next).empty() || (url.starts_with("https://") && !next.starts_with("https://")))
      throw workError("pull: expected a redirect to {}, got '{}' of '{}'",
                      url.starts_with("https://") ? "https" : "http or https", vx::printableLine(location),
                      vx::printableLine(url));
    if (redirects == mostRedirects)
      throw workError("pull: expected at most {} redirects, got more of '{}'", mostRedirects,
                      vx::printableLine(base + path));
    url = next;
  }
}

} // namespace vx::tools
