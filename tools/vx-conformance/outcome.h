// What a case is compiled with, and how it ended.
#ifndef VX_TOOLS_OUTCOME_H
#define VX_TOOLS_OUTCOME_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace vx::tools {

enum class Mode {
  Static,   // the model as it is
  Dynamic,  // sizes of the inputs are symbols
  Constant, // all tensors among the inputs but the first input are constants, and the first one's sizes are symbols
  Symbolic  // all sizes of all inputs are symbols, 1 and the lengths of lists too
};

inline constexpr std::string_view ModeNames[] = {"static", "dynamic", "constant", "symbolic"};
inline constexpr size_t ModeCount = std::size(ModeNames);
inline std::string_view modeName(Mode mode) { return ModeNames[static_cast<size_t>(mode)]; }

enum class Outcome {
  Passed,
  Unsupported,  // the compiler or the runtime refuses it, and says why
  CompileError, // it does not compile for another reason, or none that is said
  RunFailure,   // it compiles, and the call fails
  Wrong,        // an output is not what it must be
  Crash,        // the process that worked on it ended
  Timeout,      // it came to no end
  Unreadable,   // a file of the case is missing or damaged
  Skipped,      // there is no device for it, or it has its turn in another mode
  Compiled      // it is not to run here
};

inline constexpr std::string_view OutcomeNames[] = {"passed",  "unsupported", "compile_error", "run_failure",
                                                    "wrong",   "crash",       "timeout",       "unreadable",
                                                    "skipped", "compiled"};
inline constexpr size_t OutcomeCount = std::size(OutcomeNames);
inline std::string_view outcomeName(Outcome outcome) { return OutcomeNames[static_cast<size_t>(outcome)]; }

// What came of the second sizes of a case.
enum class SecondSizesResult {
  Untried,   // not in this mode, or the case does not pass at the sizes of its files
  Compared,  // with the reference evaluator's values
  Refused,   // the model takes no others
  NoSymbols, // no size of its inputs may change
  Random,    // its values are
  Unknown,   // the reference evaluator does not know an op or a type of it
  TooLarge,  // for the reference evaluator
};

inline constexpr std::string_view SecondSizesNames[] = {"untried", "compared", "refused",  "no_symbols",
                                                        "random",  "unknown",  "too_large"};

struct SecondSizesOutcome {
  SecondSizesResult result = SecondSizesResult::Untried;
  std::string message = {}; // the sizes, or why there are none
  // Calls at them and at others: compared, refused by the reference evaluator and the module, and by the module alone.
  size_t compared = 0, refused = 0, refusedByModule = 0;
  bool isPacked = false;  // a pack has the second sizes, and no others
  size_t comparedOwn = 0; // calls at the sizes of the files whose outputs are compared with the evaluator's too
};

// The value of an enumeration by one of the tables above; nothing for another name.
template <typename Enum, size_t Count>
std::optional<Enum> valueOf(const std::string_view (&names)[Count], std::string_view name) {
  for (size_t i = 0; i < Count; ++i)
    if (names[i] == name)
      return static_cast<Enum>(i);
  return std::nullopt;
}

// What came of a case on one target.
struct TargetOutcome {
  std::string target;
  Outcome outcome = Outcome::Passed;
  std::string message = {};
  double seconds = 0; // of compiling, which targets share, and of the call
  SecondSizesOutcome second = {};
};

} // namespace vx::tools

#endif
