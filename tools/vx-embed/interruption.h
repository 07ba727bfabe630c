// SIGINT and SIGTERM while a long piece of work is done.
#ifndef VX_EMBED_INTERRUPTION_H
#define VX_EMBED_INTERRUPTION_H

#include <csignal>

namespace vx::tools {

// What is thrown, so that all that is half done is taken away.
struct Interrupted {
  const int signal;
  // Ends the process as the signal would have, so that a shell knows.
  void endProcess() const;
};

// For as long as it lives, the first signal is only noted; the second ends the process at once. What was ignored is
// ignored on. One at a time.
class Interruption {
public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption &) = delete;
  Interruption &operator=(const Interruption &) = delete;

  // Throws Interrupted after a signal.
  void check() const;

private:
  struct sigaction old[2];
};

} // namespace vx::tools

#endif
