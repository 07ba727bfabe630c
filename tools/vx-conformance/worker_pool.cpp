#include "worker_pool.h"

#include "command_line.h"
#include "tool_error.h"
#include "worker.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char **environ;

namespace vx::tools {

using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// The last bytes of what a worker printed before it ended are part of the message.
static constexpr off_t ShownOfOutput = 600;

namespace {

class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  int get() const { return number; }
  void reset(int other = -1) {
    if (number >= 0)
      ::close(number);
    number = other;
  }

private:
  int number;
};

} // namespace

// A process, which is started when it is first asked for something.
class Worker {
public:
  Worker() = default;
  ~Worker() { end(); }
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  int answersDescriptor() const { return answers.get(); }

  // False when the process has ended since its last answer.
  bool ask(const json &request) {
    if (process <= 0)
      start();
    return !hasEnded() && ::ftruncate(output.get(), 0) == 0 &&
           write(request.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }

  // By itself. What it has answered may still be there to be read.
  bool hasEnded() const {
    siginfo_t status = {};
    return process > 0 && ::waitid(P_PID, static_cast<id_t>(process), &status, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           status.si_pid == process;
  }

  // Reads what there is. False when the process has ended, or is about to.
  bool receive(std::vector<json> &lines) {
    char piece[1 << 16];
    const ssize_t count = ::read(answers.get(), piece, sizeof(piece));
    if (count < 0 && errno == EINTR)
      return true;
    if (count <= 0)
      return false;
    text.append(piece, static_cast<size_t>(count));
    for (size_t newline; (newline = text.find('\n')) != std::string::npos; text.erase(0, newline + 1))
      lines.push_back(json::parse(text.substr(0, newline)));
    return true;
  }

  // Ends the process, and says how it ended if that was by itself.
  std::string end() {
    std::string message;
    if (process > 0) {
      ::kill(process, SIGKILL);
      int status = 0;
      ::waitpid(process, &status, 0);
      if (WIFSIGNALED(status))
        message = fmt::format("the process ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
      else
        message = fmt::format("the process ended with exit code {}", WEXITSTATUS(status));
      if (const std::string last = lastOutput(); !last.empty())
        message += ": " + last;
    }
    process = -1;
    requests.reset();
    answers.reset();
    text.clear();
    return message;
  }

  std::string latest; // the case that it was given last
  // What it works on.
  std::optional<WorkerPool::Job> job;
  std::vector<std::string> open; // targets without an answer
  Clock::time_point deadline;

private:
  void start();

  bool write(const std::string &line) {
    for (size_t written = 0; written < line.size();) {
      const ssize_t count = ::write(requests.get(), line.data() + written, line.size() - written);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return false;
      written += static_cast<size_t>(count);
    }
    return true;
  }

  std::string lastOutput() const {
    const off_t size = ::lseek(output.get(), 0, SEEK_END);
    std::string last(static_cast<size_t>(std::clamp<off_t>(size, 0, ShownOfOutput)), '\0');
    const ssize_t count = ::pread(output.get(), last.data(), last.size(), std::max<off_t>(size - ShownOfOutput, 0));
    last.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    while (!last.empty() && last.back() == '\n')
      last.pop_back();
    return last;
  }

  pid_t process = -1;
  Descriptor requests, answers, output;
  std::string text; // of a line that is not whole yet
};

void Worker::start() {
  auto failed = [](const char *what) { return workError("cannot {} for a worker: {}", what, std::strerror(errno)); };
  int toWorker[2], fromWorker[2];
  if (::pipe2(toWorker, O_CLOEXEC) != 0)
    throw failed("make a pipe");
  const Descriptor workersRequests(toWorker[0]);
  requests.reset(toWorker[1]);
  if (::pipe2(fromWorker, O_CLOEXEC) != 0)
    throw failed("make a pipe");
  answers.reset(fromWorker[0]);
  const Descriptor workersAnswers(fromWorker[1]);
  // In memory, and emptied before each case. At its end, so that it is not as long as before afterwards.
  output.reset(::memfd_create("vx-conformance", MFD_CLOEXEC));
  if (output.get() < 0 || ::fcntl(output.get(), F_SETFL, O_APPEND) != 0)
    throw failed("make a file in memory");

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, workersRequests.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, workersAnswers.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDERR_FILENO);
  char name[] = "vx-conformance";
  std::string flag = WorkerFlag;
  char *const arguments[] = {name, flag.data(), nullptr};
  const int error = ::posix_spawn(&process, "/proc/self/exe", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) {
    process = -1;
    throw workError("cannot start a worker: {}", std::strerror(error));
  }
}

WorkerPool::WorkerPool(size_t count, double timeoutSeconds) : timeout(timeoutSeconds) {
  // A worker that has ended is an error of the write.
  std::signal(SIGPIPE, SIG_IGN);
  for (size_t i = 0; i < count; ++i)
    workers.push_back(std::make_unique<Worker>());
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::ask(Worker &worker, const json &request) {
  if (worker.ask(request))
    return;
  ended.push_back(fmt::format("a worker ended {}: {}",
                              worker.latest.empty() ? "before its first case" : "after " + worker.latest,
                              worker.end()));
  if (!worker.ask(request))
    throw workError("a worker ends before it is asked for anything: {}", worker.end());
}

json WorkerPool::devices() {
  Worker &worker = *workers.front();
  ask(worker, devicesRequest());
  std::vector<json> answers;
  while (answers.empty())
    if (!worker.receive(answers))
      throw workError("no answer to what devices there are: {}", worker.end());
  return answers.front();
}

void WorkerPool::run(std::deque<Job> jobs, const std::function<void(size_t, const TargetOutcome &)> &tell) {
  // Of several targets it is not known which one it was: all that have no answer have failed.
  auto giveUp = [&](Worker &worker, Outcome outcome, const std::string &message, double seconds) {
    const Job job = *std::exchange(worker.job, std::nullopt);
    const std::vector<std::string> open = std::exchange(worker.open, {});
    const std::string together =
        open.size() > 1 ? fmt::format(" (it had {} to do)", joinWords(open, "and")) : std::string();
    for (const std::string &target : open)
      tell(job.number, {target, outcome, message + together, seconds});
  };
  while (true) {
    std::vector<pollfd> places;
    std::vector<Worker *> busy;
    Clock::time_point next = Clock::time_point::max();
    for (const std::unique_ptr<Worker> &worker : workers) {
      if (!worker->job && !jobs.empty()) {
        worker->job = std::move(jobs.front());
        jobs.pop_front();
        worker->open = worker->job->request.targets;
        const CaseRequest &request = worker->job->request;
        ask(*worker, caseRequest(request));
        worker->latest = fmt::format("{}, {}", request.folder.name, modeName(request.mode));
        worker->deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
      }
      if (!worker->job)
        continue;
      places.push_back({worker->answersDescriptor(), POLLIN, 0});
      busy.push_back(worker.get());
      next = std::min(next, worker->deadline);
    }
    if (busy.empty())
      break;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    if (::poll(places.data(), places.size(), static_cast<int>(std::clamp<int64_t>(wait.count(), 0, 60'000))) < 0 &&
        errno != EINTR)
      throw workError("cannot wait for the workers: {}", std::strerror(errno));
    for (size_t i = 0; i < busy.size(); ++i) {
      Worker &worker = *busy[i];
      std::vector<json> answers;
      const bool lives = !(places[i].revents & (POLLIN | POLLHUP | POLLERR)) || worker.receive(answers);
      for (const json &answer : answers) {
        const TargetOutcome outcome = readAnswer(answer);
        std::erase(worker.open, outcome.target);
        tell(worker.job->number, outcome);
      }
      if (worker.open.empty())
        worker.job.reset();
      else if (!lives)
        giveUp(worker, Outcome::Crash, worker.end(), 0);
      else if (Clock::now() >= worker.deadline) {
        worker.end();
        giveUp(worker, Outcome::Timeout, fmt::format("it has not come to an end after {} s", timeout.count()),
               timeout.count());
      }
    }
  }
  for (const std::unique_ptr<Worker> &worker : workers)
    if (worker->hasEnded())
      ended.push_back(fmt::format("a worker ended after {}: {}", worker->latest, worker->end()));
}

} // namespace vx::tools
