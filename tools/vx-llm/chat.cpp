#include "chat.h"

#include "command_line.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <poll.h>
#include <unistd.h>

namespace vx::tools {

namespace {

volatile std::sig_atomic_t isInterrupted = 0;

// While it lives, Ctrl-C sets isInterrupted.
class Interruptions {
public:
  Interruptions() {
    ::sigaction(SIGINT, nullptr, &old);
    endReads(false);
  }
  ~Interruptions() { ::sigaction(SIGINT, &old, nullptr); }
  Interruptions(const Interruptions &) = delete;
  Interruptions &operator=(const Interruptions &) = delete;

  // Whether Ctrl-C ends a read. It must not end a write, whose text would be lost: the program would end with an error.
  static void endReads(bool ends) {
    struct sigaction action{};
    action.sa_handler = [](int) { isInterrupted = 1; };
    action.sa_flags = ends ? 0 : SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, nullptr);
  }

  // Waits for a line at a terminal. False after Ctrl-C, also one that came right before the wait.
  static bool awaitLine() {
    sigset_t interrupt, before;
    ::sigemptyset(&interrupt);
    ::sigaddset(&interrupt, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (!isInterrupted && ::ppoll(&input, 1, nullptr, &before) < 0 && errno == EINTR)
      ;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return !isInterrupted;
  }

private:
  struct sigaction old;
};

constexpr const char *Commands = R"(/help           these commands
/clear          forgets the conversation
/system [TEXT]  sets the message before the conversation, or none, and forgets the conversation
/history        prints the conversation
/retry          answers the last message again, with another seed
/exit           ends the program, as Ctrl-D does
Ctrl-C ends an answer. A line that ends with \ goes on in the next one. A message that begins with / is typed with //.
)";

std::string describeDevice(const vx::Instance &instance) {
  const nlohmann::json report = nlohmann::json::parse(instance.report(VX_REPORT_JSON));
  std::string text = report["taken"].value("device", "");
  if (const std::string name = report["taken"].value("name", ""); !name.empty())
    text += " (" + name + ")";
  for (const nlohmann::json &refusal : report["refused"])
    text += fmt::format("; not {}: {}", refusal.value("device", ""), refusal.value("reason", ""));
  return vx::printableLine(text);
}

class Conversation {
public:
  Conversation(const char *tool, RunOptions given)
      : tool(tool), options(std::move(given)),
        generator(makeGenerator(loadModel(tool, options), options, options.context)),
        isTerminal(::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1),
        isColoured(isTerminal && !std::getenv("NO_COLOR")) {
    generator.checkChat();
    clear();
    options.generate.isCancelled = [] { return isInterrupted != 0; };
    options.generate.onText = [](std::string_view piece) {
      printText(piece);
      std::fflush(stdout);
    };
  }

  void run() {
    printMessage("{}: {} on {}, context {}{}\n", tool, generator.info().family, describeDevice(generator.instance()),
                 generator.context(), isTerminal ? "; /help has the commands" : "");
    const Interruptions interruptions;
    while (std::optional<std::string> line = readMessage())
      if (!take(*line))
        return;
    if (isTerminal)
      printText("\n");
  }

private:
  // False ends the program.
  bool take(std::string line) {
    if (line.empty())
      return true;
    if (line.starts_with("//"))
      line.erase(0, 1);
    else if (line.front() == '/')
      return obey(line);
    messages.push_back({"user", line});
    answer();
    return true;
  }

  bool obey(const std::string &line) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string command = line.substr(0, space), rest = line.substr(std::min(space + 1, line.size()));
    if (!rest.empty() && command != "/system")
      tell(fmt::format("expected nothing after {}, got '{}'", command, rest));
    else if (command == "/exit")
      return false;
    else if (command == "/help")
      printText(Commands);
    else if (command == "/clear")
      clear();
    else if (command == "/system")
      options.system = rest.empty() ? std::nullopt : std::optional(rest), clear();
    else if (command == "/history")
      printHistory();
    else if (command == "/retry")
      retry();
    else
      tell(fmt::format("expected /help, /clear, /system, /history, /retry or /exit, got '{}'", command));
    return true;
  }

  void clear() {
    messages.clear();
    if (options.system)
      messages.push_back({"system", *options.system});
  }

  void printHistory() {
    for (const llm::Message &message : messages)
      printText(fmt::format("{}: {}\n", message.role, message.content));
  }

  void retry() {
    if (messages.empty() || messages.back().role != "assistant")
      return tell("expected an answer before /retry, got none");
    messages.pop_back();
    ++options.generate.sampling.seed;
    answer();
  }

  // Answers the last message. One that does not fit is left out again.
  void answer() {
    try {
      const llm::Answer answer = generator.chat(messages, options.generate);
      printText("\n");
      messages.push_back({"assistant", answer.text});
      if (answer.finish == llm::FinishReason::length && isTerminal)
        printMessage("{}: note: the answer ends where --max-tokens or the context ends\n", tool);
    } catch (const std::exception &error) {
      messages.pop_back();
      const bool isOfMessage = dynamic_cast<const llm::Error *>(&error) != nullptr;
      if (!isTerminal || !isOfMessage)
        throw;
      tell(error.what());
    }
  }

  // A mistake at a terminal; an error where a file or a program writes the messages.
  void tell(const std::string &message) {
    if (!isTerminal)
      throw usageError("{}", message);
    printMessage("{}: {}\n", tool, vx::printableLine(message));
  }

  // Nothing at the end of the input.
  std::optional<std::string> readMessage() {
    std::string message;
    while (true) {
      isInterrupted = 0; // before the prompt, which says that a key is for the next line
      if (isTerminal) {
        std::fputs(isColoured ? "\033[1m> \033[0m" : "> ", stdout);
        std::fflush(stdout);
      }
      std::optional<std::string> line;
      if (!isTerminal || Interruptions::awaitLine())
        line = readLine();
      if (isTerminal && isInterrupted) { // Ctrl-C while nothing is answered
        message.clear();
        printText("\n");
        continue;
      }
      if (!line)
        return message.empty() ? std::nullopt : std::optional(message);
      message += *line;
      if (!message.ends_with('\\'))
        return message;
      message.back() = '\n';
    }
  }

  static std::optional<std::string> readLine() {
    char *bytes = nullptr;
    size_t room = 0;
    Interruptions::endReads(true);
    const ssize_t size = ::getline(&bytes, &room, stdin);
    Interruptions::endReads(false);
    const std::unique_ptr<char, decltype(&std::free)> owner(bytes, &std::free);
    if (size < 0) {
      std::clearerr(stdin);
      return std::nullopt;
    }
    std::string line(bytes, static_cast<size_t>(size));
    while (line.ends_with('\n') || line.ends_with('\r'))
      line.pop_back();
    return line;
  }

  const char *const tool;
  RunOptions options;
  llm::Generator generator;
  const bool isTerminal, isColoured;
  std::vector<llm::Message> messages;
};

} // namespace

void chat(const char *tool, RunOptions options) {
  withModelErrors(options, [&] { Conversation(tool, options).run(); });
}

} // namespace vx::tools
