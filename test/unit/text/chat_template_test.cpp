// Bounds and errors of chat templates; texts are compared with Jinja's by test/text/run_templates.py.
#include "vx/text/chat_template.hpp"

#include <gtest/gtest.h>

using vx::text::ChatTemplate;
using vx::text::Error;
using vx::text::RenderLimits;

namespace {

std::string render(std::string_view source, std::string_view variables = "{}", const RenderLimits &limits = {}) {
  return ChatTemplate::parse(source).render(variables, limits);
}

/// "file: ..." of an error of the template, "argument: ..." of one of its rendering.
std::string errorOf(std::string_view source, std::string_view variables = "{}", const RenderLimits &limits = {}) {
  try {
    return "text: " + render(source, variables, limits);
  } catch (const Error &error) {
    return std::string(error.kind() == Error::Kind::file ? "file: " : "argument: ") + error.what();
  }
}

std::string repeated(const std::string &text, int count) {
  std::string made;
  for (int i = 0; i < count; ++i)
    made += text;
  return made;
}

} // namespace

TEST(ChatTemplate, Conversation) {
  const char *source = "{{ bos_token }}\n"
                       "{% for message in messages %}\n"
                       "    {{- '<|' + message.role + '|>' + message['content'] | trim + eos_token }}\n"
                       "{% endfor %}\n"
                       "{% if add_generation_prompt %}<|assistant|>{% endif %}\n";
  EXPECT_EQ(render(source, R"({"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true,
                              "messages": [{"role": "user", "content": " Hi "}, {"role": "assistant", "content": "Yo"}]})"),
            "<s>\n<|user|>Hi</s>\n<|assistant|>Yo</s>\n<|assistant|>");
  // A template is used again, and by copies of it.
  const ChatTemplate parsed = ChatTemplate::parse("{% set ns = namespace(n=a) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}"),
                     copy = parsed;
  EXPECT_EQ(parsed.render(R"({"a": 1})"), "2");
  EXPECT_EQ(copy.render(R"({"a": 5})"), "6");
}

TEST(ChatTemplate, Refused) {
  EXPECT_EQ(errorOf("a\n\n{% include 'x' %}"), "file: line 3: the tag 'include' is not supported");
  EXPECT_EQ(errorOf("{% nothing %}"), "file: line 1: the tag 'nothing' is not known");
  EXPECT_EQ(errorOf("\n{{ x | nothing }}"), "argument: line 2: the filter 'nothing' is not supported");
  EXPECT_EQ(errorOf("{% if no %}{{ x | nothing }}{% endif %}"), "text: ");
  EXPECT_EQ(errorOf("\n{{ x is nothing }}"), "argument: line 2: the test 'nothing' is not supported");
  EXPECT_EQ(errorOf("{% for x in [] recursive %}{% endfor %}"),
            "file: line 1: 'recursive' of the tag 'for' is not supported");
  EXPECT_EQ(errorOf("{% if x %}\n"), "file: line 1: expected the tag 'endif', got the end of the template");
  EXPECT_EQ(errorOf("{{ x\n"), "file: line 1: a tag has no end '}}'");
  EXPECT_EQ(errorOf("{{ 1 + }}"), "file: line 1: expected an expression, got the end of the tag");
  EXPECT_EQ(errorOf("{{ ? }}"), "file: line 1: the character '?' is not expected");
  EXPECT_EQ(errorOf("{{ (1] }}"), "file: line 1: ']' is not expected, expected ')'");
  EXPECT_EQ(errorOf("{{ f(*x) }}"), "file: line 1: arguments by '*' are not supported");
  EXPECT_EQ(errorOf("{{ 9223372036854775808 }}"),
            "file: line 1: the number 9223372036854775808 is too large, expected less than 2^63");
  EXPECT_EQ(errorOf("a\xff"), "file: the template is not UTF-8 at byte 1");
  EXPECT_EQ(errorOf("{% break %}"), "file: line 1: the tag 'break' is outside of a loop");

  EXPECT_EQ(errorOf("\n{{ raise_exception('roles must ' ~ 1) }}"),
            "argument: line 2: the template refuses the messages: roles must 1");
  EXPECT_EQ(errorOf("{{ a.b.c }}", R"({"a": {}})"), "argument: line 1: 'dict' object has no attribute 'b'");
  EXPECT_EQ(errorOf("{{ a + 1 }}"), "argument: line 1: 'a' is undefined");
  EXPECT_EQ(errorOf("{{ 1 + 'a' }}"), "argument: line 1: '+' is not defined between 'int' and 'str'");
  EXPECT_EQ(errorOf("{{ a.append(1) }}", R"({"a": []})"),
            "argument: line 1: a method that changes a value of 'list' is not allowed in a template");
  EXPECT_EQ(errorOf("{{ 'a'.zfill(3) }}"), "argument: line 1: the method 'zfill' of a 'str' is not supported");
  EXPECT_EQ(errorOf("{{ 9223372036854775807 + 1 }}"),
            "argument: line 1: a whole number is too large, expected less than 2^63");
  EXPECT_EQ(errorOf("{% macro m(a) %}\n{{ a.x.y }}\n{% endmacro %}\n\n{{ m({}) }}"),
            "argument: line 2: 'dict' object has no attribute 'x'");
  EXPECT_EQ(errorOf("x", "[]"), "argument: the variables are a JSON array, expected an object");
  EXPECT_TRUE(errorOf("x", "{").starts_with("argument: the variables are no JSON: "));
}

TEST(ChatTemplate, Bounds) {
  const std::string loops = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
  EXPECT_EQ(errorOf(loops, "{}", {.most_steps = 100'000}),
            "argument: line 1: the template takes more than 100000 steps");
  EXPECT_EQ(errorOf("{% for i in range(100) %}{% endfor %}", "{}", {.most_steps = 50}),
            "argument: line 1: the template takes more than 50 steps");
  EXPECT_EQ(errorOf("{% for i in range(100) %}abcdefghij{% endfor %}", "{}", {.most_output = 999}),
            "argument: line 1: the template writes more than 999 bytes");
  EXPECT_EQ(render("{% for i in range(100) %}abcdefghij{% endfor %}", "{}", {.most_output = 1000}).size(), 1000u);
  EXPECT_EQ(errorOf("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
            "argument: line 1: the template nests deeper than 400 levels");
  EXPECT_EQ(errorOf("{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
                    "{}", {.most_memory = 1u << 20}),
            "argument: line 1: the template makes values of more than 1048576 bytes");
  for (const char *large : {"{{ 'ab' * 9999999999 }}", "{{ [1] * 999999999999 }}", "{{ 'a'.ljust(99999999999) }}"})
    EXPECT_EQ(errorOf(large), "argument: line 1: the template makes values of more than 1073741824 bytes") << large;
  EXPECT_EQ(errorOf("{{ range(100001) }}"), "argument: line 1: range: expected at most 100000 numbers");
  // A value that contains itself.
  EXPECT_EQ(errorOf("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}"),
            "argument: line 1: the template nests deeper than 400 levels");
  EXPECT_EQ(errorOf("{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns.x == [ns] }}"), "text: True");
}

TEST(ChatTemplate, DeepSources) {
  for (const auto &[open, middle, close] :
       {std::tuple("(", "1", ")"), {"[", "", "]"}, {"-", "1", ""}, {"not ", "1", ""}, {"{1:", "1", "}"}})
    EXPECT_EQ(errorOf("{{ " + repeated(open, 5000) + middle + repeated(close, 5000) + " }}"),
              "file: line 1: the template nests deeper than 100 levels");
  EXPECT_EQ(errorOf(repeated("{% if 1 %}", 5000)), "file: line 1: the template nests deeper than 100 levels");
  for (const char *link : {" + 1", " and 1", " | abs", ".a", "[0]", "()", " ** 1", " if 1"})
    EXPECT_EQ(errorOf("{{ 1" + repeated(link, 5000) + " }}"),
              "file: line 1: the template has a chain of more than 200 parts")
        << link;
  EXPECT_EQ(render("{{ 1" + repeated(" + 1", 150) + " }}{{ 'a'" + repeated(" ~ 'b'", 1000) + " }}").substr(0, 5),
            "151ab");
  EXPECT_EQ(render("{% if x == 0 %}" + repeated("{% elif x == 1 %}b", 150) + "{% else %}c{% endif %}", R"({"x": 2})"),
            "c");
  std::string deep = repeated("[", 5000) + repeated("]", 5000);
  EXPECT_EQ(errorOf("x", "{\"a\": " + deep + "}"), "argument: line 0: the template nests deeper than 400 levels");
}

TEST(ChatTemplate, Clock) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}{{ strftime_now('') }}", "{}", {.now = 1721997296}), "26 Jul 2024");
}
