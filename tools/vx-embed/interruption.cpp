#include "interruption.h"

#include <atomic>

namespace vx::tools {

static constexpr int signals[] = {SIGINT, SIGTERM};
static std::atomic<int> noted = 0;
static_assert(std::atomic<int>::is_always_lock_free);

Interruption::Interruption() {
  for (size_t i = 0; i < 2; ++i) {
    struct sigaction action{};
    action.sa_handler = [](int signal) { noted.store(signal); };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(signals[i], &action, &old[i]);
    if (old[i].sa_handler == SIG_IGN)
      ::sigaction(signals[i], &old[i], nullptr);
  }
}

Interruption::~Interruption() {
  for (size_t i = 0; i < 2; ++i)
    ::sigaction(signals[i], &old[i], nullptr);
}

void Interruption::check() const {
  if (const int signal = noted.load())
    throw Interrupted{signal};
}

void Interrupted::endProcess() const {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

} // namespace vx::tools
