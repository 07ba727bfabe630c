#include "log_writer.h"

#include <cerrno>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace vx::serve {

static void writeAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd entry = {descriptor, POLLOUT, 0};
      (void)::poll(&entry, 1, 1000);
    } else if (errno != EINTR) {
      return;
    }
  }
}

LogWriter::LogWriter(int descriptor, std::chrono::milliseconds delay, size_t most)
    : descriptor(descriptor), delay(delay), most(most) {
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogWriter::~LogWriter() {
  {
    const std::lock_guard guard(lock);
    isOver = true;
    changed.notify_one();
  }
  thread.join();
  flush();
}

void LogWriter::append(std::string_view line) {
  std::unique_lock guard(lock);
  hasRoom.wait(guard, [this] { return waiting.size() < most || isOver; });
  waiting += line;
  // The thread that has been woken up collects the lines of `delay`.
  if (waiting.size() == line.size() || (waiting.size() >= most / 2 && waiting.size() - line.size() < most / 2))
    changed.notify_one();
}

void LogWriter::write(std::string_view line) {
  {
    const std::lock_guard guard(lock);
    waiting += line;
  }
  flush();
}

void LogWriter::flush() {
  const std::lock_guard one(output);
  {
    const std::lock_guard guard(lock);
    writing.clear();
    writing.swap(waiting);
    hasRoom.notify_all();
  }
  writeAll(descriptor, writing);
}

void LogWriter::run() {
  std::unique_lock guard(lock);
  for (;;) {
    changed.wait(guard, [this] { return !waiting.empty() || isOver; });
    changed.wait_for(guard, delay, [this] { return waiting.size() >= most / 2 || isOver; });
    if (isOver)
      return;
    guard.unlock();
    flush();
    guard.lock();
  }
}

} // namespace vx::serve
