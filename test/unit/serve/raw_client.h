// A connection that sends what no library of a client would.
#ifndef VX_TEST_SERVE_RAW_CLIENT_H
#define VX_TEST_SERVE_RAW_CLIENT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

class RawClient {
public:
  explicit RawClient(uint16_t port) : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    isConnected = connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0;
  }
  RawClient(RawClient &&other) noexcept : isConnected(other.isConnected), fd(std::exchange(other.fd, -1)) {}
  RawClient &operator=(RawClient &&) = delete;
  ~RawClient() { close(); }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0)
        return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // What comes until `end` is in it, or the connection ends, or nothing has come for so long.
  std::string receive(std::string_view end = {}, int milliseconds = 5000) const {
    std::string text;
    for (;;) {
      if (!end.empty() && text.find(end) != std::string::npos)
        return text;
      pollfd entry = {fd, POLLIN, 0};
      if (poll(&entry, 1, milliseconds) <= 0)
        return text + "<nothing more>";
      char piece[4096];
      const ssize_t size = recv(fd, piece, sizeof(piece), 0);
      if (size <= 0)
        return text + (size == 0 ? "<end>" : "<reset>");
      text.append(piece, static_cast<size_t>(size));
    }
  }
  std::string ask(std::string_view bytes) const {
    send(bytes);
    return receive();
  }
  void finishSending() const { shutdown(fd, SHUT_WR); }
  void close() {
    if (fd >= 0)
      ::close(fd);
    fd = -1;
  }

  bool isConnected;

private:
  int fd;
};

#endif
