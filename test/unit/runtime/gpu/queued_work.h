// The work of a library that stands in for a GPU's: what is launched, copied or filled is queued by stream and carried
// out later, so that whoever forgets a wait sees it. Work is carried out in the order of its stream, as late as can be:
// when the stream or an event behind the work is waited for. VX_QUEUED_WORK says otherwise: `early` at once, or a
// number, the seed of a draw at each call of how much of which stream is carried out by then; any of these is what a
// GPU may do.
//
// What uses memory after it is given back, or gives back what queued work uses, ends the process with a message: on a
// GPU it is lost or wrong without a word.
#ifndef VX_TEST_UNIT_RUNTIME_GPU_QUEUED_WORK_H
#define VX_TEST_UNIT_RUNTIME_GPU_QUEUED_WORK_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace vx::test {

// Thread-safe. Streams and events are known by their addresses; one that is not known yet is made by its first use.
class QueuedWork {
public:
  // Bytes of memory, or one byte at the address of another object.
  struct Range {
    uint64_t begin = 0, size = 1;

    bool meets(const Range &other) const {
      return size && other.size && begin < other.begin + other.size && other.begin < begin + size;
    }
  };
  // Answers 0, or the vendor's number of an error, after which nothing more of its stream is carried out.
  using Action = std::function<int()>;

  [[noreturn]] static void die(const std::string &problem) {
    std::fprintf(stderr, "the GPU's stand-in: %s\n", problem.c_str());
    std::abort();
  }

  void add(const void *stream, int device, Action action, std::vector<Range> uses = {}) {
    std::shared_ptr<Stream> own;
    bool keepsTooMuch = false;
    {
      std::lock_guard lock(mutex);
      own = find(stream);
      keepsTooMuch = keptBytes > mostKept;
      own->device = device;
      own->works.push_back({std::move(action), std::move(uses)});
      ++own->queued;
    }
    if (mode == Mode::Early)
      carryOut(*own, UINT64_MAX);
    else
      perhaps();
    if (keepsTooMuch)
      for (const std::shared_ptr<Stream> &each : all())
        carryOut(*each, UINT64_MAX);
  }
  // A wait for the stream: the first error of its work since the last wait, or 0.
  int finish(const void *stream) {
    std::shared_ptr<Stream> own;
    {
      std::lock_guard lock(mutex);
      own = find(stream);
    }
    return finish(*own, UINT64_MAX);
  }
  // Carries some of the stream's work out; whether all of it is done, with its error.
  bool poll(const void *stream, int &error) {
    std::shared_ptr<Stream> own;
    {
      std::lock_guard lock(mutex);
      own = find(stream);
    }
    return poll(*own, UINT64_MAX, error);
  }

  void record(const void *event, const void *stream) {
    std::lock_guard lock(mutex);
    const std::shared_ptr<Stream> own = find(stream);
    events[event] = {own, own->queued};
  }
  int finishEvent(const void *event) {
    const Event found = eventOf(event);
    return found.stream ? finish(*found.stream, found.place) : 0;
  }
  bool pollEvent(const void *event, int &error) {
    const Event found = eventOf(event);
    error = 0;
    return !found.stream || poll(*found.stream, found.place, error);
  }
  // What an event that was never recorded stands for is done.
  bool isDone(const void *event) {
    const Event found = eventOf(event);
    std::lock_guard lock(mutex);
    return !found.stream || found.stream->done >= found.place;
  }
  void forgetEvent(const void *event) {
    std::lock_guard lock(mutex);
    events.erase(event);
  }

  bool isEmpty(const void *stream) {
    std::lock_guard lock(mutex);
    auto found = streams.find(stream);
    return found == streams.end() || found->second->works.empty();
  }
  void forgetStream(const void *stream) {
    if (!isEmpty(stream))
      die("a stream with work in it is given back");
    std::lock_guard lock(mutex);
    if (auto found = streams.find(stream); found != streams.end()) {
      std::erase(inOrder, found->second);
      streams.erase(found);
    }
  }
  // A device that is lost does nothing more.
  void drop(int device) {
    std::lock_guard lock(mutex);
    for (auto &[handle, stream] : streams)
      if (stream->device == device) {
        stream->done += stream->works.size();
        stream->works.clear();
      }
    letGo();
  }

  // `what` is given back: dies when work that is queued in another stream uses it.
  void giveBack(const char *what, Range range, const void *orderedBy = nullptr) {
    std::lock_guard lock(mutex);
    for (const auto &[handle, stream] : streams)
      for (const Work &work : stream->works)
        for (const Range &used : work.uses)
          if (handle != orderedBy && used.meets(range))
            die(std::string(what) + " is given back while work is queued that uses it");
  }
  // Runs `release` when everything that is queued now is done, as its addresses must not be those of something else
  // before.
  void afterQueued(uint64_t bytes, std::function<void()> release) {
    std::lock_guard lock(mutex);
    Kept kept{bytes, {}, std::move(release)};
    for (const auto &[handle, stream] : streams)
      if (!stream->works.empty())
        kept.behind.push_back({stream, stream->queued});
    keptBytes += bytes;
    keeping.push_back(std::move(kept));
    letGo();
  }

private:
  enum class Mode { Late, Early, Random };
  struct Work {
    Action action;
    std::vector<Range> uses;
  };
  struct Stream {
    std::mutex running; // held where work is carried out, which keeps its order
    int device = 0, error = 0;
    std::deque<Work> works; // the first one may be running
    uint64_t queued = 0, done = 0;
  };
  struct Event {
    std::shared_ptr<Stream> stream;
    uint64_t place = 0; // of the stream's work, how much is before it
  };
  struct Kept {
    uint64_t bytes = 0;
    std::vector<Event> behind;
    std::function<void()> release;
  };
  static constexpr uint64_t mostKept = uint64_t(512) << 20;

  std::shared_ptr<Stream> find(const void *stream) {
    std::shared_ptr<Stream> &found = streams[stream];
    if (!found) {
      found = std::make_shared<Stream>();
      inOrder.push_back(found);
    }
    return found;
  }
  Event eventOf(const void *event) {
    std::lock_guard lock(mutex);
    auto found = events.find(event);
    return found == events.end() ? Event() : found->second;
  }
  std::vector<std::shared_ptr<Stream>> all() {
    std::lock_guard lock(mutex);
    return inOrder;
  }

  // All that was queued before the place.
  void carryOut(Stream &stream, uint64_t place) {
    std::lock_guard order(stream.running);
    std::unique_lock lock(mutex);
    place = std::min(place, stream.queued);
    while (stream.done < place && !stream.works.empty()) {
      const Action action = std::move(stream.works.front().action); // the work may be dropped meanwhile
      const bool failedBefore = stream.error;                       // taken by whoever waits, so not without the lock
      lock.unlock();
      const int error = failedBefore ? 0 : action();
      lock.lock();
      if (error)
        stream.error = error;
      if (!stream.works.empty()) {
        stream.works.pop_front();
        ++stream.done;
      }
    }
    letGo();
  }
  int takeError(Stream &stream) {
    std::lock_guard lock(mutex);
    return std::exchange(stream.error, 0);
  }
  int finish(Stream &stream, uint64_t place) {
    carryOut(stream, place);
    return takeError(stream);
  }
  // One that is asked again and again gets on, and is not there at the first question.
  bool poll(Stream &stream, uint64_t place, int &error) {
    error = 0;
    {
      std::lock_guard lock(mutex);
      place = std::min(place, stream.queued);
      if (stream.done < place)
        place = stream.done + (place - stream.done + 1) / 2;
      else
        place = 0;
    }
    if (place == 0) {
      error = takeError(stream);
      return true;
    }
    carryOut(stream, place);
    return false;
  }
  void perhaps() {
    if (mode != Mode::Random)
      return;
    std::shared_ptr<Stream> chosen;
    uint64_t place = 0;
    {
      std::lock_guard lock(mutex);
      if (random() % 4 != 0)
        return;
      chosen = inOrder[random() % inOrder.size()];
      place = chosen->done + random() % (chosen->works.size() + 1);
    }
    carryOut(*chosen, place);
  }
  // Wants the mutex.
  void letGo() {
    std::erase_if(keeping, [&](Kept &kept) {
      std::erase_if(kept.behind, [](const Event &event) { return event.stream->done >= event.place; });
      if (!kept.behind.empty())
        return false;
      kept.release();
      keptBytes -= kept.bytes;
      return true;
    });
  }

  const char *const wanted = std::getenv("VX_QUEUED_WORK");
  const std::string modeName = wanted && *wanted ? wanted : "late";
  const Mode mode = modeName == "late" ? Mode::Late : modeName == "early" ? Mode::Early : Mode::Random;
  std::mutex mutex;
  std::mt19937_64 random{std::strtoull(modeName.c_str(), nullptr, 10)};
  std::map<const void *, std::shared_ptr<Stream>> streams;
  std::vector<std::shared_ptr<Stream>> inOrder; // as they were made: a draw is the same wherever they lie
  std::map<const void *, Event> events;
  std::vector<Kept> keeping;
  uint64_t keptBytes = 0;
};

} // namespace vx::test

#endif
