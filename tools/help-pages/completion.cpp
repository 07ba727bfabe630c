#include "completion.h"

#include "../vx/verbs.h"

#include <algorithm>

namespace vx::tools {

// Words that are completed where no flag is: the first positional argument's help lists them, "scan, list or show".
static std::string wordsOf(const HelpText &help) {
  const HelpSection *section = help.find("Positionals");
  if (!section || section->entries.empty() || !section->entries[0].term.starts_with("command"))
    return "";
  std::string words, word;
  for (char letter : section->entries[0].text + ",") {
    if (letter != ',' && letter != ' ') {
      word += letter;
      continue;
    }
    if (!word.empty() && word != "or")
      words += (words.empty() ? "" : " ") + word;
    word.clear();
  }
  return words;
}

static std::string cases(const std::vector<std::pair<std::string, std::string>> &rows) {
  std::string text;
  for (const auto &[name, words] : rows)
    if (!words.empty())
      text += "    " + name + ") echo '" + words + "' ;;\n";
  return text;
}

std::string bashCompletion(const std::vector<std::pair<std::string, HelpText>> &tools) {
  std::vector<std::pair<std::string, std::string>> flags, values, words;
  std::string names;
  for (const auto &[tool, help] : tools) {
    std::string all, withValue;
    for (const HelpSection &section : help.sections)
      for (const HelpEntry &entry : section.entries)
        for (const std::string &flag : entry.flags()) {
          all += (all.empty() ? "" : " ") + flag;
          if (entry.takesValue())
            withValue += (withValue.empty() ? "" : " ") + flag;
        }
    flags.emplace_back(tool, all);
    values.emplace_back(tool, withValue);
    words.emplace_back(tool, wordsOf(help));
    if (tool != "vx")
      names += " " + tool;
  }
  // Verbs of several words are completed word by word: "" to the first ones, and these to the second.
  std::vector<std::pair<std::string, std::string>> next = {{"''", "help"}};
  std::string arms;
  for (const Verb &verb : verbs()) {
    if (std::none_of(tools.begin(), tools.end(), [&](const auto &tool) { return tool.first == verb.tool; }))
      continue;
    const size_t space = verb.words.find(' ');
    const std::string first(verb.words.substr(0, space));
    next[0].second += " " + first;
    if (space != std::string_view::npos)
      next.emplace_back(first, verb.words.substr(space + 1));
    arms += "    '" + std::string(verb.words) + "') echo " + std::string(verb.tool) + " ;;\n";
  }
  return "# Made of the tools' --help.\n"
         "_vx_flags() {\n  case $1 in\n" +
         cases(flags) +
         "  esac\n}\n"
         "_vx_flags_with_value() {\n  case $1 in\n" +
         cases(values) +
         "  esac\n}\n"
         "_vx_words() {\n  case $1 in\n" +
         cases(words) +
         "  esac\n}\n"
         "_vx_next_word() {\n  case $1 in\n" +
         cases(next) +
         "  esac\n}\n"
         "_vx_tool_of() {\n  case $1 in\n" +
         arms +
         "  esac\n}\n"
         R"sh(
# Completes after a tool's name, which is word $2.
_vx_arguments() {
  local tool=$1 first=$2 current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  # bash cuts --flag=value into three words.
  [[ $current == = ]] && current=
  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}
  if [[ ${COMP_WORDS[COMP_CWORD]} == = || " $(_vx_flags_with_value "$tool") " == *" $before "* ]]; then
    case $before in
      --device | --backend) COMPREPLY=($(compgen -W 'auto cpu cuda rocm vulkan' -- "$current")) ;;
      *) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(_vx_flags "$tool")" -- "$current"))
  elif [[ $((COMP_CWORD - first)) == 1 && -n $(_vx_words "$tool") ]]; then
    COMPREPLY=($(compgen -W "$(_vx_words "$tool")" -- "$current"))
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}

_vx_complete_tool() {
  COMPREPLY=()
  _vx_arguments "${1##*/}" 0
}

_vx_complete() {
  COMPREPLY=()
  local current=${COMP_WORDS[COMP_CWORD]} first=1 tool
  [[ ${COMP_WORDS[1]} == help ]] && first=2
  tool=$(_vx_tool_of "${COMP_WORDS[first]}")
  if [[ -n $tool && $COMP_CWORD -gt $first ]]; then
    _vx_arguments "$tool" "$first"
    return
  fi
  tool=$(_vx_tool_of "${COMP_WORDS[first]} ${COMP_WORDS[first+1]}")
  if [[ -n $tool && $COMP_CWORD -gt $((first + 1)) ]]; then
    _vx_arguments "$tool" "$((first + 1))"
  elif [[ $COMP_CWORD == "$first" ]]; then
    COMPREPLY=($(compgen -W "$(_vx_next_word '')" -- "$current"))
  elif [[ $COMP_CWORD == $((first + 1)) ]]; then
    COMPREPLY=($(compgen -W "$(_vx_next_word "${COMP_WORDS[first]}")" -- "$current"))
  fi
}

complete -F _vx_complete vx
)sh"
         "complete -F _vx_complete_tool" +
         names + "\n";
}

} // namespace vx::tools
