// The lines of a log on a descriptor. Lines that can wait are written together by a thread of its own.
#ifndef VX_SERVE_LOG_WRITER_H
#define VX_SERVE_LOG_WRITER_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace vx::serve {

// All calls are thread-safe. Lines keep their order. A line that cannot be written, as on a full disk, is lost.
class LogWriter {
public:
  // A line that waits is written after `delay` at the latest. If `most` bytes wait, further calls wait for the
  // descriptor.
  explicit LogWriter(int descriptor, std::chrono::milliseconds delay = std::chrono::milliseconds(10),
                     size_t most = size_t(1) << 20);
  // Writes the lines that wait.
  ~LogWriter();

  // Appends a line, which ends with a line feed.
  void append(std::string_view line);
  // Writes all lines that wait, and this one.
  void write(std::string_view line);
  void flush();

private:
  void run();

  const int descriptor;
  const std::chrono::milliseconds delay;
  const size_t most;
  std::mutex output; // held by the thread that writes; taken before `lock`
  std::string writing;
  std::mutex lock;
  std::condition_variable changed, hasRoom;
  std::string waiting;
  bool isOver = false;
  std::thread thread;
};

} // namespace vx::serve

#endif
