// One request out of bytes as they come, which are counted: what is too long or ambiguous is refused as soon as that is
// known.
#ifndef VX_SERVE_HTTP_REQUEST_READER_H
#define VX_SERVE_HTTP_REQUEST_READER_H

#include "http_exchange.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>

namespace vx::serve {

namespace http = boost::beast::http;

class HttpRequestReader {
public:
  HttpRequestReader(const HttpLimits &limits, std::shared_ptr<ServerState> server)
      : limits(limits), reservation(std::make_shared<Reservation>(std::move(server), limits.bytesInFlight)) {
    parser.header_limit(static_cast<uint32_t>(limits.headerBytes));
    parser.body_limit(UINT64_MAX); // what is too long is told behind what else is wrong with a header
  }

  // Takes what it reads out of `incoming`. http::error::need_more: the header goes on.
  void readHeader(std::string &incoming, boost::system::error_code &error) { consume(incoming, error); }
  // True: the request is whole. Else more is wanted, or `error` has what is wrong. Throws a ServiceError for a body
  // that is too long, or has no room beside what is in flight.
  bool readBody(std::string &incoming, boost::system::error_code &error) {
    // The parser takes a body in parts: what it leaves of these bytes begins a part that is not whole.
    while (!parser.is_done()) {
      const size_t consumed = consume(incoming, error);
      wireBytes += consumed;
      if (wireBytes + (parser.is_done() ? 0 : incoming.size()) > limits.bodyBytes)
        throw serviceError(ErrorCode::body_too_large, "a body may have {} bytes over the wire, got more",
                           limits.bodyBytes);
      if (error == http::error::need_more || (!error && consumed == 0 && !parser.is_done())) {
        error = {};
        return false;
      }
      if (error)
        return false;
      if (!parser.content_length())
        reserveBody();
    }
    return true;
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
      throw serviceError(ErrorCode::bad_request, "want a path of UTF-8 that begins with '/', got '{}'", target);
    if (head.headers.size() > limits.headerCount)
      throw serviceError(ErrorCode::headers_too_large, "a request may have {} headers, got {}", limits.headerCount,
                         head.headers.size());
    if (parser.get().version() >= 11 && head.headerCount("host") != 1)
      throw serviceError(ErrorCode::bad_request, "want one Host header, got {}", head.headerCount("host"));
    if (const std::string *coding = head.header("transfer-encoding")) {
      if (head.header("content-length"))
        throw ServiceError(ErrorCode::bad_request, "a request has Content-Length or Transfer-Encoding, got both");
      if (mediaType(*coding) != "chunked" || head.headerCount("transfer-encoding") != 1)
        throw serviceError(ErrorCode::bad_request, "want Transfer-Encoding 'chunked', got '{}'", *coding);
    }
    if (head.headerCount("content-length") > 1)
      throw ServiceError(ErrorCode::bad_request, "want one Content-Length header, got several");
    const std::string *expectation = head.header("expect");
    if (expectation && mediaType(*expectation) != "100-continue")
      throw serviceError(ErrorCode::bad_request, "want Expect '100-continue', got '{}'", *expectation);
  }
  // Throws a ServiceError for a length that is too much, or has no room beside what is in flight. Bodies are read from
  // then on.
  void beginBody() {
    parser.eager(true);
    const auto length = parser.content_length();
    // What all requests together may have is no more of one, at whatever time it comes.
    const uint64_t most = std::min(limits.bodyBytes, limits.bytesInFlight);
    if (length && *length > most)
      throw serviceError(ErrorCode::body_too_large, "a body may have {} bytes, got Content-Length {}", most, *length);
    if (length && !reservation->add(*length))
      throw busy();
  }

  bool isWhole() const { return parser.is_done(); }
  bool mayHaveBody() const {
    return !parser.is_header_done() || parser.chunked() || parser.content_length().value_or(0) != 0;
  }
  bool keepsAlive() const { return parser.get().keep_alive(); }
  std::string takeBody() { return std::move(parser.get().body()); }
  const std::shared_ptr<Reservation> &room() const { return reservation; }

private:
  size_t consume(std::string &incoming, boost::system::error_code &error) {
    const size_t consumed = parser.put(boost::asio::buffer(incoming), error);
    incoming.erase(0, consumed);
    return consumed;
  }
  // Of a body whose length is not known before.
  void reserveBody() {
    const uint64_t held = parser.get().body().size();
    if (!reservation->add(held - reserved))
      throw busy();
    reserved = held;
  }
  ServiceError busy() const {
    return serviceError(ErrorCode::queue_full, "{} bytes of requests are in flight, there is no room for this one",
                        reservation->allInFlight())
        .after(1);
  }

  const HttpLimits limits;
  const std::shared_ptr<Reservation> reservation;
  http::request_parser<http::string_body> parser;
  uint64_t wireBytes = 0, reserved = 0;
};

} // namespace vx::serve

#endif
