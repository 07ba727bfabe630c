// One request out of bytes as they come, which are counted: what is too long or ambiguous is refused as soon as that is
// known.
#ifndef VX_SERVE_HTTP_REQUEST_READER_H
#define VX_SERVE_HTTP_REQUEST_READER_H

#include "http_exchange.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <optional>
#include <span>

namespace vx::serve {

namespace http = boost::beast::http;

class HttpRequestReader {
public:
  HttpRequestReader(const HttpLimits &limits, std::shared_ptr<ServerState> server, const std::string &address)
      : limits(limits), reservation(std::make_shared<Reservation>(std::move(server), byteLimits(limits), address)) {
    parser.header_limit(static_cast<uint32_t>(limits.headerBytes));
    parser.body_limit(UINT64_MAX); // what is too long is told after what else is wrong with a header
    parser.on_chunk_header(noteChunk);
  }
  HttpRequestReader(const HttpRequestReader &) = delete;
  HttpRequestReader &operator=(const HttpRequestReader &) = delete;

  // Takes what it reads out of `incoming`. http::error::need_more: the header goes on.
  void readHeader(std::string &incoming, boost::system::error_code &error) {
    const size_t consumed = parser.put(boost::asio::buffer(incoming), error);
    // The parser joins such lines, so only the bytes as they came tell.
    const std::string_view header = std::string_view(incoming).substr(0, consumed);
    hasFolds |= header.find("\n ") != header.npos || header.find("\n\t") != header.npos;
    incoming.erase(0, consumed);
  }
  // True: the request is whole. Else more is wanted, or `error` has what is wrong. Throws a ServiceError for a body
  // that is too long, or has no room beside what is in flight.
  bool readBody(std::string &incoming, boost::system::error_code &error) {
    if (length) {
      const std::span<char> room = space(static_cast<size_t>(std::min<uint64_t>(*length - received, incoming.size())));
      std::ranges::copy(std::string_view(incoming).substr(0, room.size()), room.begin());
      incoming.erase(0, room.size());
      return take(room.size());
    }
    // The parser takes a body in parts: what it leaves of these bytes begins a part that is not whole.
    while (!parser.is_done()) {
      const size_t consumed = consume(incoming, error);
      wireBytes += consumed;
      // What is left of a chunked body is a line that is not whole.
      if (longestExtension > mostOfChunkLine ||
          (parser.chunked() && !parser.is_done() && incoming.size() > mostOfChunkLine))
        throw serviceError(ErrorCode::bad_request, "the line in front of a chunk may have {} bytes, got more",
                           mostOfChunkLine);
      if (wireBytes + (parser.is_done() ? 0 : incoming.size()) > limits.bodyBytes)
        throw serviceError(ErrorCode::body_too_large, "a body may have {} bytes over the wire, got more",
                           limits.bodyBytes)
            .expected(limits.bodyBytes, "more");
      if (error == http::error::need_more || (!error && consumed == 0 && !parser.is_done())) {
        error = {};
        return false;
      }
      if (error)
        return false;
      reserveBody(parser.get().body().size());
    }
    return true;
  }

  // Where the next bytes of the body may be read to without a copy, until the next call of a function that is not
  // const. Empty: they go through readBody.
  std::span<char> space() { return length ? space(mostRead) : std::span<char>(); }
  // `size` bytes have come there. True: the request is whole. Throws as readBody.
  bool take(size_t size) {
    received += size;
    reserveBody(received);
    return isWhole();
  }

  // What the header says, but for its target.
  HttpRequest head() const {
    HttpRequest head;
    const auto &message = parser.get();
    head.method = std::string(message.method_string());
    for (const auto &field : message) {
      std::string name(field.name_string());
      for (char &c : name)
        if (c >= 'A' && c <= 'Z')
          c = static_cast<char>(c - 'A' + 'a');
      head.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    const std::string *given = head.header("x-request-id");
    head.id = given && isRequestId(*given) ? *given : makeRequestId();
    return head;
  }
  // Throws a ServiceError for a header that is too long, or that two readers may take for different things. Fills in
  // the path.
  void checkHeader(HttpRequest &head) const {
    const std::string_view target(parser.get().target().data(), parser.get().target().size());
    if (!splitTarget(target, head.path, head.query))
      throw serviceError(ErrorCode::bad_request, "expected a path of UTF-8 that begins with '/', got '{}'", target);
    if (head.headers.size() > limits.headerCount)
      throw serviceError(ErrorCode::headers_too_large, "a request may have {} headers, got {}", limits.headerCount,
                         head.headers.size())
          .expected(limits.headerCount, head.headers.size());
    if (parser.get().version() >= 11 && head.headerCount("host") != 1)
      throw serviceError(ErrorCode::bad_request, "expected one Host header, got {}", head.headerCount("host"));
    if (hasFolds)
      throw ServiceError(ErrorCode::bad_request, "expected each header on one line, got one that goes on in the next");
    for (const std::string_view name : onceOnly)
      if (const size_t count = head.headerCount(name); count > 1)
        throw serviceError(ErrorCode::bad_request, "expected one header '{}', got {}", name, count);
    if (const std::string *coding = head.header("transfer-encoding")) {
      if (head.header("content-length"))
        throw ServiceError(ErrorCode::bad_request, "a request has Content-Length or Transfer-Encoding, got both");
      if (!isSameName(*coding, "chunked") || !parser.chunked() || parser.get().version() < 11)
        throw serviceError(ErrorCode::bad_request, "expected Transfer-Encoding 'chunked' of HTTP/1.1, got '{}'",
                           *coding);
    }
    if (const std::string *length = head.header("content-length"); length && !isNumber(*length))
      throw serviceError(ErrorCode::bad_request, "expected digits as Content-Length, got '{}'", *length);
    const std::string *expectation = head.header("expect");
    if (expectation && mediaType(*expectation) != "100-continue")
      throw serviceError(ErrorCode::bad_request, "expected '100-continue' in header Expect, got '{}'", *expectation);
  }
  // Throws a ServiceError for a length that is too much at any time. Bodies are read from then on, and count as they
  // come: what is only promised takes nobody's room. `account` is whose share of bytes they count in, besides that of
  // the address.
  void beginBody(const std::string &account) {
    parser.eager(true);
    reservation->setAccount(account);
    const auto promised = parser.content_length();
    const uint64_t most = std::min(limits.bodyBytes, reservation->limit());
    if (promised && *promised > most)
      throw serviceError(ErrorCode::body_too_large, "a body may have {} bytes, got Content-Length {}", most, *promised)
          .expected(most, *promised);
    if (promised && !parser.is_done()) {
      length = *promised;
      body.reserve(static_cast<size_t>(*length));
    }
  }

  bool isWhole() const { return length ? received == *length : parser.is_done(); }
  // Whether the next byte is known to begin another request.
  bool isAtEnd() const {
    const bool hasNoBody = parser.is_header_done() && parser.get().count(http::field::transfer_encoding) == 0 &&
                           parser.content_length().value_or(0) == 0;
    return hasNoBody || isWhole();
  }
  bool keepsAlive() const { return parser.get().keep_alive(); }
  std::string takeBody() { return std::move(length ? body : parser.get().body()); }
  const std::shared_ptr<Reservation> &room() const { return reservation; }

private:
  // A size and an extension, or the last chunk with its trailer.
  static constexpr size_t mostOfChunkLine = 4096;
  // Memory that a client takes before its bytes come.
  static constexpr size_t mostRead = 64 << 10;
  // Two of them are what two readers take for different things.
  static constexpr std::string_view onceOnly[] = {"authorization",
                                                  "x-api-key",
                                                  "content-length",
                                                  "transfer-encoding",
                                                  "content-type",
                                                  "content-encoding",
                                                  "expect",
                                                  "origin",
                                                  "x-request-timeout-ms",
                                                  "x-request-id",
                                                  "inference-header-content-length"};

  static ByteBudget::Limits byteLimits(const HttpLimits &limits) {
    return {limits.bytesInFlight, limits.bytesPerAddress, limits.bytesPerKey};
  }
  static bool isNumber(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  }
  static bool isSameName(std::string_view text, std::string_view lower) {
    return std::ranges::equal(text, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
  }

  size_t consume(std::string &incoming, boost::system::error_code &error) {
    const size_t consumed = parser.put(boost::asio::buffer(incoming), error);
    incoming.erase(0, consumed);
    return consumed;
  }
  std::span<char> space(size_t most) {
    const auto begin = static_cast<size_t>(received);
    body.resize(static_cast<size_t>(std::min<uint64_t>(*length, received + most)));
    return std::span(body).subspan(begin);
  }
  void reserveBody(uint64_t held) {
    if (const std::string full = reservation->add(held - reserved); !full.empty())
      throw serviceError(ErrorCode::queue_full, "{}, there is no room for this request", full).after(1);
    reserved = held;
  }

  const HttpLimits limits;
  const std::shared_ptr<Reservation> reservation;
  http::request_parser<http::string_body> parser;
  // Of a body that does not come in chunks and is not empty; the parser has read its header alone.
  std::optional<uint64_t> length;
  std::string body;
  uint64_t received = 0, wireBytes = 0, reserved = 0;
  size_t longestExtension = 0;
  bool hasFolds = false;
  std::function<void(uint64_t, boost::beast::string_view, boost::system::error_code &)> noteChunk =
      [this](uint64_t, boost::beast::string_view extension, boost::system::error_code &) {
        longestExtension = std::max(longestExtension, extension.size());
      };
};

} // namespace vx::serve

#endif
