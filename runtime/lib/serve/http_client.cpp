#include "http_client.h"

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace vx::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

std::string ClientAnswer::header(std::string_view name) const {
  const auto place =
      std::find_if(headers.begin(), headers.end(), [&](const auto &header) { return header.first == name; });
  return place == headers.end() ? "" : place->second;
}

class HttpClient::Connection {
public:
  Connection(const HttpUrl &url, const HttpClientOptions &options) : url(url), options(options) {
    if (!url.isSecure)
      return;
    tls.emplace(asio::ssl::context::tls_client);
    boost::system::error_code error;
    if (options.certificates.empty())
      tls->set_default_verify_paths(error);
    else
      tls->load_verify_file(options.certificates, error);
    if (error)
      throw ConnectionError(fmt::format("certificates '{}': expected PEM of authorities, got: {}", options.certificates,
                                        error.message()));
    tls->set_verify_mode(asio::ssl::verify_peer);
    tls->set_verify_callback(asio::ssl::host_name_verification(url.host));
  }

  ClientAnswer ask(std::string_view request) {
    try {
      const auto end = std::chrono::steady_clock::now() + options.time;
      if (!plain && !secure)
        connect(end);
      return secure ? exchange(*secure, request, end) : exchange(*plain, request, end);
    } catch (...) {
      close();
      throw;
    }
  }

private:
  using Moment = std::chrono::steady_clock::time_point;
  using Secure = asio::ssl::stream<beast::tcp_stream>;

  // Waits for one operation, which gives its handler to `start`.
  template <typename Start>
  boost::system::error_code await(const Start &start) {
    boost::system::error_code result = asio::error::would_block;
    start([&result](boost::system::error_code error, auto &&...) { result = error; });
    context.restart();
    context.run();
    return result;
  }
  void check(boost::system::error_code error, const char *what) const {
    if (error == beast::error::timeout)
      throw ConnectionError(fmt::format("no answer of '{}' in {} ms", url.authority, options.time.count()));
    if (error == http::error::end_of_stream || error == http::error::partial_message || error == asio::error::eof)
      throw ConnectionError("the server has closed the connection");
    if (error)
      throw ConnectionError(fmt::format("{} '{}': {}", what, url.authority, error.message()));
  }

  void connect(Moment end) {
    tcp::resolver resolver(context);
    tcp::resolver::results_type found;
    check(await([&](auto &&done) {
            resolver.async_resolve(url.host, url.port,
                                   [&found, done](boost::system::error_code error, tcp::resolver::results_type list) {
                                     found = std::move(list);
                                     done(error);
                                   });
          }),
          "no address of");
    beast::tcp_stream stream(context);
    stream.expires_at(end);
    check(await([&](auto &&done) { stream.async_connect(found, done); }), "cannot connect to");
    boost::system::error_code ignored;
    stream.socket().set_option(tcp::no_delay(true), ignored);
    if (!url.isSecure) {
      plain.emplace(std::move(stream));
      return;
    }
    secure.emplace(std::move(stream), *tls);
    // A name, not an address, is sent so that the server chooses its certificate by it.
    asio::ip::make_address(url.host, ignored);
    if (ignored)
      SSL_set_tlsext_host_name(secure->native_handle(), url.host.c_str());
    check(await([&](auto &&done) { secure->async_handshake(asio::ssl::stream_base::client, done); }),
          "no connection of TLS to");
  }

  template <typename Stream>
  ClientAnswer exchange(Stream &stream, std::string_view request, Moment end) {
    beast::get_lowest_layer(stream).expires_at(end);
    check(await([&](auto &&done) { asio::async_write(stream, asio::buffer(request.data(), request.size()), done); }),
          "the connection broke to");
    http::response_parser<http::string_body> parser;
    parser.body_limit(options.mostBytes);
    parser.skip(request.starts_with("HEAD "));
    const boost::system::error_code error =
        await([&](auto &&done) { http::async_read(stream, incoming, parser, done); });
    if (error == http::error::body_limit)
      throw ConnectionError(fmt::format("expected an answer of {} bytes at the most, got more", options.mostBytes));
    if (error.category() == http::make_error_code(http::error::bad_version).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
      throw ConnectionError(fmt::format("expected an answer of HTTP/1.1, got what is none: {}", error.message()));
    check(error, "the connection broke to");
    ClientAnswer answer;
    answer.status = parser.get().result_int();
    for (const auto &field : parser.get()) {
      std::string name(field.name_string());
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; });
      answer.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    const bool keepsAlive = parser.keep_alive();
    answer.body = std::move(parser.get().body());
    if (!keepsAlive)
      close();
    return answer;
  }

  void close() {
    plain.reset();
    secure.reset();
    incoming.clear();
  }

  const HttpUrl url;
  const HttpClientOptions options;
  asio::io_context context{1};
  std::optional<asio::ssl::context> tls;
  std::optional<beast::tcp_stream> plain;
  std::optional<Secure> secure;
  beast::flat_buffer incoming;
};

HttpClient::HttpClient(const HttpUrl &url, const HttpClientOptions &options)
    : url(url), options(options), connection(std::make_unique<Connection>(url, options)) {}
HttpClient::~HttpClient() = default;

std::string HttpClient::format(std::string_view method, std::string_view target, std::string_view body,
                               const Headers &headers) const {
  http::request<http::string_body> request;
  request.version(11);
  request.method_string({method.data(), method.size()});
  request.target({target.data(), target.size()});
  request.set(http::field::host, url.authority);
  for (const auto &[name, value] : headers)
    request.set(name, value);
  request.body() = body;
  if (method != "GET" && method != "HEAD")
    request.content_length(body.size());
  std::ostringstream bytes;
  bytes << request;
  return std::move(bytes).str();
}

ClientAnswer HttpClient::ask(std::string_view request) { return connection->ask(request); }

} // namespace vx::serve
