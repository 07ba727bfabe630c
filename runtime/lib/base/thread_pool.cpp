#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace vx {

namespace {

// How long a thread looks before it sleeps: from sleep it takes the system tens to hundreds of microseconds to run it
// again, and between two dispatches of a call there are fewer. After the first moment it yields its core at each look
// to whoever else has work.
constexpr std::chrono::microseconds alone{50}, yielding{1000};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns what `word` holds once that is not `value`, by looking for a moment and then asleep. It is to be notified.
uint32_t waitForChange(const std::atomic<uint32_t> &word, uint32_t value) {
  const auto start = std::chrono::steady_clock::now();
  for (auto passed = start - start; passed < yielding; passed = std::chrono::steady_clock::now() - start) {
    for (int look = 0; look < 32; ++look) {
      if (uint32_t now = word.load(std::memory_order_acquire); now != value)
        return now;
      relax();
    }
    if (passed > alone)
      sched_yield();
  }
  word.wait(value, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

} // namespace

struct ThreadPool::Workers {
private:
  // Items that one thread begins with: [first, last) in the upper and lower half of one word, so that its owner takes
  // from the front and others from the back without a lock. Each has a line of cache to itself.
  class alignas(64) Share {
  public:
    void set(uint32_t first, uint32_t last) { bounds.store(uint64_t(first) << 32 | last, std::memory_order_relaxed); }
    bool takeFirst(uint32_t &index) {
      return take(index, [](uint32_t &first, uint32_t &) { return first++; });
    }
    bool takeLast(uint32_t &index) {
      return take(index, [](uint32_t &, uint32_t &last) { return --last; });
    }

  private:
    template <typename Choose>
    bool take(uint32_t &index, Choose choose) {
      uint64_t before = bounds.load(std::memory_order_relaxed);
      while (true) {
        uint32_t first = static_cast<uint32_t>(before >> 32), last = static_cast<uint32_t>(before);
        if (first >= last)
          return false;
        index = choose(first, last);
        if (bounds.compare_exchange_weak(before, uint64_t(first) << 32 | last, std::memory_order_relaxed))
          return true;
      }
    }

    std::atomic<uint64_t> bounds = 0;
  };

public:
  explicit Workers(uint32_t threads) : shares(threads) {}
  ~Workers();

  // Starts the threads of all shares but the first, which is the asking thread's. An error number, or 0.
  int start();
  void run(uint32_t count, uint64_t offset, void (*function)(void *, size_t), void *context);

  std::mutex busy;

private:
  struct Worker {
    Workers *workers;
    size_t share;
    pthread_t thread;
  };
  void work(size_t share);
  void takeAll(size_t share);

  // Of `gate`: a dispatch may be joined; below it, how many workers have joined and not left.
  static constexpr uint32_t open = uint32_t(1) << 31;

  std::vector<Share> shares;
  std::vector<Worker> started;
  // The dispatch, which workers read between joining and leaving it.
  void (*function)(void *, size_t) = nullptr;
  void *context = nullptr;
  uint64_t offset = 0;
  alignas(64) std::atomic<uint32_t> gate = 0;
  // Changes with each dispatch, and at the end.
  alignas(64) std::atomic<uint32_t> turn = 0;
  std::atomic<bool> ends = false;
};

int ThreadPool::Workers::start() {
  // Signals are for the threads of the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  started.reserve(shares.size() - 1);
  int error = 0;
  while (!error && started.size() + 1 < shares.size()) {
    Worker &worker = started.emplace_back(Worker{this, started.size() + 1, {}});
    error = pthread_create(
        &worker.thread, nullptr,
        [](void *argument) -> void * {
          const Worker &worker = *static_cast<Worker *>(argument);
          worker.workers->work(worker.share);
          return nullptr;
        },
        &worker);
    if (error)
      started.pop_back();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

ThreadPool::Workers::~Workers() {
  ends.store(true, std::memory_order_relaxed);
  turn.fetch_add(1, std::memory_order_release);
  turn.notify_all();
  for (Worker &worker : started)
    pthread_join(worker.thread, nullptr);
}

void ThreadPool::Workers::work(size_t share) {
  for (uint32_t seen = 0;;) {
    seen = waitForChange(turn, seen);
    if (ends.load(std::memory_order_relaxed))
      return;
    // While the gate is open, whoever asks has not returned, and waits for those that have joined.
    uint32_t joined = gate.load(std::memory_order_relaxed);
    while (joined & open &&
           !gate.compare_exchange_weak(joined, joined + 1, std::memory_order_acquire, std::memory_order_relaxed))
      ;
    if (!(joined & open))
      continue;
    takeAll(share);
    if (gate.fetch_sub(1, std::memory_order_release) == 1)
      gate.notify_one();
  }
}

void ThreadPool::Workers::takeAll(size_t own) {
  uint32_t index;
  while (shares[own].takeFirst(index))
    function(context, offset + index);
  for (size_t next = 1; next < shares.size(); ++next)
    for (Share &other = shares[(own + next) % shares.size()]; other.takeLast(index);)
      function(context, offset + index);
}

void ThreadPool::Workers::run(uint32_t count, uint64_t from, void (*what)(void *, size_t), void *argument) {
  const uint32_t threads = static_cast<uint32_t>(shares.size());
  uint32_t first = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    uint32_t size = count / threads + (i < count % threads);
    shares[i].set(first, first + size);
    first += size;
  }
  function = what;
  context = argument;
  offset = from;
  gate.store(open, std::memory_order_release);
  turn.fetch_add(1, std::memory_order_release);
  if (count > started.size())
    turn.notify_all();
  else
    for (uint32_t i = 1; i < count; ++i)
      turn.notify_one();
  takeAll(0);
  uint32_t inside = gate.fetch_and(~open, std::memory_order_acquire) & ~open;
  while (inside)
    inside = waitForChange(gate, inside);
}

uint32_t usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    int count = CPU_COUNT(&set);
    if (count > 0)
      return static_cast<uint32_t>(count);
  }
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<uint32_t>(count) : 1;
}

ThreadPool::ThreadPool(std::unique_ptr<Workers> workers, uint32_t threads)
    : workers(std::move(workers)), threadCount(threads) {}

ThreadPool::~ThreadPool() = default;

Status ThreadPool::create(uint32_t threads, std::unique_ptr<ThreadPool> &result) {
  if (threads == 0)
    threads = usableCores();
  constexpr uint32_t limit = 1024;
  if (threads > limit)
    return failure(VX_INVALID_ARGUMENT, "asked for {} threads, allowed are at most {}", threads, limit);
  std::unique_ptr<Workers> workers;
  if (threads > 1) {
    workers = std::make_unique<Workers>(threads);
    if (int error = workers->start())
      return failure(VX_OUT_OF_MEMORY, "cannot start {} threads: {}", threads, std::strerror(error));
  }
  result.reset(new ThreadPool(std::move(workers), threads));
  return okStatus();
}

void ThreadPool::run(uint64_t count, void (*function)(void *context, size_t index), void *context) {
  if (workers && count > 1) {
    std::unique_lock lock(workers->busy, std::try_to_lock);
    if (lock.owns_lock()) {
      for (uint64_t from = 0; from < count; from += UINT32_MAX)
        workers->run(static_cast<uint32_t>(std::min<uint64_t>(count - from, UINT32_MAX)), from, function, context);
      return;
    }
  }
  for (uint64_t i = 0; i < count; ++i)
    function(context, i);
}

} // namespace vx
