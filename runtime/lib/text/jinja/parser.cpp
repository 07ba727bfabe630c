#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

#include <algorithm>
#include <array>

namespace vx::text::jinja {

namespace {

// Together they bound the depth of the tree, which is walked by recursion.
constexpr size_t MostNesting = 100, MostLinks = 200;

class Parser {
public:
  explicit Parser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  Body parse() {
    Body body = statements({});
    if (now().kind != Token::Kind::end)
      fail("the tag '" + now().text + "' is not expected");
    return body;
  }

private:
  const Token &now() const { return tokens[at]; }
  const Token &next() const { return tokens[std::min(at + 1, tokens.size() - 1)]; }
  bool isMark(std::string_view mark) const { return now().kind == Token::Kind::mark && now().text == mark; }
  bool isName(std::string_view name) const { return now().kind == Token::Kind::name && now().text == name; }
  bool takeMark(std::string_view mark) {
    if (!isMark(mark))
      return false;
    ++at;
    return true;
  }
  bool takeName(std::string_view name) {
    if (!isName(name))
      return false;
    ++at;
    return true;
  }
  [[noreturn]] void fail(const std::string &what) const { failAt(now().line, what); }
  std::string got() const {
    switch (now().kind) {
    case Token::Kind::blockEnd:
    case Token::Kind::outputEnd:
      return "the end of the tag";
    case Token::Kind::data:
      return "text";
    case Token::Kind::end:
      return "the end of the template";
    case Token::Kind::string:
      return "a string";
    default:
      return "'" + now().text + "'";
    }
  }
  void wantMark(std::string_view mark) {
    if (!takeMark(mark))
      fail("expected '" + std::string(mark) + "', got " + got());
  }
  std::string wantName() {
    if (now().kind != Token::Kind::name)
      fail("expected a name, got " + got());
    return tokens[at++].text;
  }
  void wantEnd() {
    if (now().kind != Token::Kind::blockEnd)
      fail("expected the end of the tag, got " + got());
    ++at;
  }

  struct Nesting {
    explicit Nesting(Parser &parser) : parser(parser) {
      if (++parser.nesting > MostNesting)
        parser.fail("the template nests deeper than " + std::to_string(MostNesting) + " levels");
    }
    ~Nesting() { --parser.nesting; }
    Parser &parser;
  };
  void countLink(size_t links) const {
    if (links >= MostLinks)
      fail("the template has a chain of more than " + std::to_string(MostLinks) + " parts");
  }

  // --- statements ---

  std::unique_ptr<Statement> make(Action action) const {
    auto statement = std::make_unique<Statement>();
    statement->action = action;
    statement->line = now().line;
    return statement;
  }

  /// Up to a tag of `ends`, whose name is next.
  Body statements(std::initializer_list<std::string_view> ends) {
    const Nesting level(*this);
    Body body;
    while (now().kind != Token::Kind::end) {
      if (now().kind == Token::Kind::data) {
        auto data = make(Action::data);
        data->text = tokens[at++].text;
        body.push_back(std::move(data));
      } else if (now().kind == Token::Kind::outputBegin) {
        ++at;
        auto output = make(Action::output);
        output->value = tuple(true);
        if (now().kind != Token::Kind::outputEnd)
          fail("expected the end of the tag, got " + got());
        ++at;
        body.push_back(std::move(output));
      } else {
        ++at; // the begin of a block
        if (now().kind != Token::Kind::name)
          fail("expected the name of a tag, got " + got());
        if (std::ranges::find(ends, now().text) != ends.end())
          return body;
        if (auto statement = block())
          body.push_back(std::move(statement));
      }
    }
    if (ends.size())
      fail("expected the tag '" + std::string(*(ends.end() - 1)) + "', got the end of the template");
    return body;
  }

  Body bodyUpTo(std::string_view end) {
    wantEnd();
    Body body = statements({end});
    ++at;
    wantEnd();
    return body;
  }

  std::unique_ptr<Statement> block() {
    const std::string tag = now().text;
    if (tag == "if")
      return branch();
    if (tag == "for")
      return loop();
    if (tag == "set")
      return set();
    if (tag == "macro")
      return macro();
    if (tag == "break" || tag == "continue") {
      auto statement = make(tag == "break" ? Action::leave : Action::proceed);
      if (loops == 0)
        fail("the tag '" + tag + "' is outside of a loop");
      ++at;
      wantEnd();
      return statement;
    }
    if (tag == "generation") {
      auto statement = make(Action::part);
      ++at;
      statement->body = bodyUpTo("endgeneration");
      return statement;
    }
    if (tag == "filter") {
      auto statement = make(Action::filter);
      ++at;
      statement->value = filters(nullptr, true);
      statement->body = bodyUpTo("endfilter");
      return statement;
    }
    if (tag == "with")
      return scope();
    static constexpr auto known = std::to_array<std::string_view>(
        {"autoescape", "block", "call", "do", "extends", "from", "import", "include", "trans", "debug"});
    if (std::ranges::find(known, tag) != known.end())
      fail("the tag '" + tag + "' is not supported");
    fail("the tag '" + tag + "' is not known");
  }

  std::unique_ptr<Statement> branch() {
    std::unique_ptr<Statement> first;
    Body *place = nullptr;
    for (size_t links = 0;; ++links) {
      countLink(links);
      auto statement = make(Action::branch);
      Statement &last = *statement;
      ++at;
      last.value = tuple(false);
      wantEnd();
      last.body = statements({"elif", "else", "endif"});
      if (place)
        place->push_back(std::move(statement));
      else
        first = std::move(statement);
      place = &last.other;
      if (isName("elif"))
        continue;
      if (takeName("else")) {
        wantEnd();
        last.other = statements({"endif"});
      }
      ++at;
      wantEnd();
      return first;
    }
  }

  std::unique_ptr<Statement> loop() {
    auto statement = make(Action::loop);
    ++at;
    statement->target = target();
    if (!takeName("in"))
      fail("expected 'in', got " + got());
    statement->value = tuple(false, true);
    if (takeName("if"))
      statement->condition = expression();
    if (isName("recursive"))
      fail("'recursive' of the tag 'for' is not supported");
    wantEnd();
    ++loops;
    statement->body = statements({"else", "endfor"});
    --loops;
    if (takeName("else")) {
      wantEnd();
      statement->other = statements({"endfor"});
    }
    ++at;
    wantEnd();
    return statement;
  }

  std::unique_ptr<Statement> set() {
    auto statement = make(Action::set);
    ++at;
    statement->target = target(true);
    if (takeMark("=")) {
      statement->value = tuple(true);
      wantEnd();
      return statement;
    }
    statement->action = Action::block;
    if (isMark("|"))
      statement->value = filters(nullptr, false);
    statement->body = bodyUpTo("endset");
    return statement;
  }

  std::unique_ptr<Statement> macro() {
    auto statement = make(Action::macro);
    ++at;
    statement->text = wantName();
    wantMark("(");
    while (!isMark(")")) {
      if (!statement->parameters.empty())
        wantMark(",");
      if (isMark(")"))
        break;
      Parameter parameter{wantName(), nullptr};
      if (takeMark("="))
        parameter.otherwise = expression();
      else if (!statement->parameters.empty() && statement->parameters.back().otherwise)
        fail("a parameter without a default is after one with a default");
      statement->parameters.push_back(std::move(parameter));
    }
    ++at;
    const size_t outside = std::exchange(loops, 0);
    statement->body = bodyUpTo("endmacro");
    loops = outside;
    return statement;
  }

  std::unique_ptr<Statement> scope() {
    auto statement = make(Action::scope);
    ++at;
    while (now().kind != Token::Kind::blockEnd) {
      if (!statement->parameters.empty())
        wantMark(",");
      Parameter parameter{wantName(), nullptr};
      wantMark("=");
      parameter.otherwise = expression();
      statement->parameters.push_back(std::move(parameter));
    }
    statement->body = bodyUpTo("endwith");
    return statement;
  }

  /// A name, names with commas between, or an attribute of a name.
  ExpressionPointer target(bool takesAttribute = false) {
    std::vector<ExpressionPointer> names;
    bool isTuple = false;
    const auto one = [&] {
      const Nesting level(*this);
      if (takeMark("(")) {
        ExpressionPointer inner = target();
        wantMark(")");
        return inner;
      }
      auto name = node(Operation::name);
      name->text = wantName();
      if (isReserved(name->text))
        fail("a value cannot be set to '" + name->text + "'");
      if (takesAttribute && isMark(".")) {
        ++at;
        auto attribute = node(Operation::attribute);
        attribute->text = wantName();
        attribute->parts.push_back(std::move(name));
        return attribute;
      }
      return name;
    };
    names.push_back(one());
    while (takeMark(",")) {
      isTuple = true;
      if (isName("in") || isMark("=") || isMark(")"))
        break;
      names.push_back(one());
    }
    if (!isTuple)
      return std::move(names[0]);
    auto made = node(Operation::tuple);
    made->parts = std::move(names);
    return made;
  }

  static bool isReserved(std::string_view name) {
    return name == "true" || name == "false" || name == "none" || name == "True" || name == "False" || name == "None";
  }

  // --- expressions ---

  ExpressionPointer node(Operation operation) const {
    auto made = std::make_unique<Expression>();
    made->operation = operation;
    made->line = now().line;
    return made;
  }
  template <typename... Parts>
  ExpressionPointer node(Operation operation, Parts... parts) const {
    ExpressionPointer made = node(operation);
    (made->parts.push_back(std::move(parts)), ...);
    return made;
  }

  bool endsTuple(bool inLoop) const {
    return now().kind == Token::Kind::blockEnd || now().kind == Token::Kind::outputEnd || isMark(")") ||
           (inLoop && (isName("recursive") || isName("if")));
  }

  /// Expressions with commas between, or one alone.
  ExpressionPointer tuple(bool withConditions, bool inLoop = false, bool isParenthesized = false) {
    std::vector<ExpressionPointer> items;
    bool isTuple = false;
    while (!endsTuple(inLoop)) {
      items.push_back(withConditions ? expression() : disjunction());
      if (!isMark(","))
        break;
      isTuple = true;
      ++at;
    }
    if (!isTuple && items.size() == 1)
      return std::move(items[0]);
    if (items.empty() && !isParenthesized)
      fail("expected an expression, got " + got());
    ExpressionPointer made = node(Operation::tuple);
    made->parts = std::move(items);
    return made;
  }

  ExpressionPointer expression() {
    const Nesting level(*this);
    ExpressionPointer value = disjunction();
    for (size_t links = 0; takeName("if"); countLink(++links)) {
      ExpressionPointer condition = disjunction(), otherwise;
      if (takeName("else"))
        otherwise = expression();
      value = node(Operation::conditional, std::move(value), std::move(condition), std::move(otherwise));
    }
    return value;
  }

  ExpressionPointer disjunction() {
    ExpressionPointer left = conjunction();
    for (size_t links = 0; takeName("or"); countLink(++links))
      left = node(Operation::logicalOr, std::move(left), conjunction());
    return left;
  }
  ExpressionPointer conjunction() {
    ExpressionPointer left = negation();
    for (size_t links = 0; takeName("and"); countLink(++links))
      left = node(Operation::logicalAnd, std::move(left), negation());
    return left;
  }
  ExpressionPointer negation() {
    if (!isName("not"))
      return comparison();
    const Nesting level(*this);
    ++at;
    return node(Operation::logicalNot, negation());
  }

  ExpressionPointer comparison() {
    ExpressionPointer first = sum();
    ExpressionPointer made;
    while (true) {
      static constexpr std::string_view marks[] = {"==", "!=", "<", "<=", ">", ">="};
      Comparison kind = Comparison::in;
      if (now().kind == Token::Kind::mark) {
        const auto *found = std::ranges::find(marks, now().text);
        if (found == std::end(marks))
          break;
        kind = static_cast<Comparison>(found - marks);
      } else if (isName("not") && next().kind == Token::Kind::name && next().text == "in") {
        ++at;
        kind = Comparison::notIn;
      } else if (!isName("in")) {
        break;
      }
      ++at;
      if (!made)
        made = node(Operation::compare, std::move(first));
      made->comparisons.push_back(kind);
      made->parts.push_back(sum());
    }
    return made ? std::move(made) : std::move(first);
  }

  ExpressionPointer sum() {
    ExpressionPointer left = concatenation();
    for (size_t links = 0; isMark("+") || isMark("-"); countLink(++links)) {
      const Operation operation = tokens[at++].text == "+" ? Operation::add : Operation::subtract;
      left = node(operation, std::move(left), concatenation());
    }
    return left;
  }
  ExpressionPointer concatenation() {
    ExpressionPointer left = product();
    if (!isMark("~"))
      return left;
    ExpressionPointer made = node(Operation::concatenate, std::move(left));
    while (takeMark("~"))
      made->parts.push_back(product());
    return made;
  }
  ExpressionPointer product() {
    ExpressionPointer left = raised();
    for (size_t links = 0; isMark("*") || isMark("/") || isMark("//") || isMark("%"); countLink(++links)) {
      const std::string mark = tokens[at++].text;
      const Operation operation = mark == "*"    ? Operation::multiply
                                  : mark == "/"  ? Operation::divide
                                  : mark == "//" ? Operation::floorDivide
                                                 : Operation::remainder;
      left = node(operation, std::move(left), raised());
    }
    return left;
  }
  ExpressionPointer raised() {
    ExpressionPointer left = unary(true);
    for (size_t links = 0; takeMark("**"); countLink(++links))
      left = node(Operation::power, std::move(left), unary(true));
    return left;
  }
  ExpressionPointer unary(bool withFilters) {
    const Nesting level(*this);
    ExpressionPointer made;
    if (takeMark("-"))
      made = node(Operation::negative, unary(false));
    else if (takeMark("+"))
      made = node(Operation::positive, unary(false));
    else
      made = primary();
    made = postfix(std::move(made));
    return withFilters ? filters(std::move(made), false) : std::move(made);
  }

  ExpressionPointer primary() {
    const Token &token = now();
    ExpressionPointer made = node(Operation::literal);
    switch (token.kind) {
    case Token::Kind::name:
      if (isReserved(token.text)) {
        const char first = static_cast<char>(token.text[0] | 32);
        made->value = first == 'n' ? Value::none() : Value::of(first == 't');
      } else {
        made->operation = Operation::name;
        made->text = token.text;
      }
      ++at;
      return made;
    case Token::Kind::string:
      made->isText = true;
      while (now().kind == Token::Kind::string)
        made->text += tokens[at++].text;
      return made;
    case Token::Kind::integer:
      made->value = Value::of(token.integer);
      ++at;
      return made;
    case Token::Kind::real:
      made->value = Value::of(token.real);
      ++at;
      return made;
    default:
      break;
    }
    if (takeMark("(")) {
      made = tuple(true, false, true);
      wantMark(")");
      return made;
    }
    if (takeMark("[")) {
      made->operation = Operation::list;
      while (!isMark("]")) {
        if (!made->parts.empty())
          wantMark(",");
        if (isMark("]"))
          break;
        made->parts.push_back(expression());
      }
      ++at;
      return made;
    }
    if (takeMark("{")) {
      made->operation = Operation::dict;
      while (!isMark("}")) {
        if (!made->parts.empty())
          wantMark(",");
        if (isMark("}"))
          break;
        made->parts.push_back(expression());
        wantMark(":");
        made->parts.push_back(expression());
      }
      ++at;
      return made;
    }
    fail("expected an expression, got " + got());
  }

  ExpressionPointer postfix(ExpressionPointer value) {
    for (size_t links = 0;; countLink(++links)) {
      if (takeMark(".")) {
        if (now().kind == Token::Kind::integer) {
          auto index = node(Operation::literal);
          index->value = Value::of(tokens[at++].integer);
          value = node(Operation::item, std::move(value), std::move(index));
          continue;
        }
        auto made = node(Operation::attribute);
        made->text = wantName();
        made->parts.push_back(std::move(value));
        value = std::move(made);
      } else if (takeMark("[")) {
        value = subscript(std::move(value));
      } else if (isMark("(")) {
        value = call(std::move(value));
      } else {
        return value;
      }
    }
  }

  ExpressionPointer subscript(ExpressionPointer value) {
    ExpressionPointer bounds[3];
    bool isSlice = false;
    if (!isMark(":"))
      bounds[0] = expression();
    for (int i = 1; i < 3 && takeMark(":"); ++i) {
      isSlice = true;
      if (!isMark(":") && !isMark("]"))
        bounds[i] = expression();
    }
    if (isMark(","))
      fail("a subscript with ',' is not supported");
    wantMark("]");
    if (!isSlice)
      return node(Operation::item, std::move(value), std::move(bounds[0]));
    return node(Operation::slice, std::move(value), std::move(bounds[0]), std::move(bounds[1]), std::move(bounds[2]));
  }

  std::vector<Argument> arguments() {
    std::vector<Argument> all;
    wantMark("(");
    while (!isMark(")")) {
      if (!all.empty())
        wantMark(",");
      if (isMark(")"))
        break;
      if (isMark("*") || isMark("**"))
        fail("arguments by '" + now().text + "' are not supported");
      Argument argument;
      if (now().kind == Token::Kind::name && next().kind == Token::Kind::mark && next().text == "=") {
        argument.name = now().text;
        at += 2;
      } else if (!all.empty() && !all.back().name.empty()) {
        fail("an argument by position is after one by name");
      }
      argument.value = expression();
      all.push_back(std::move(argument));
    }
    ++at;
    return all;
  }

  ExpressionPointer call(ExpressionPointer value) {
    auto made = node(Operation::call);
    made->parts.push_back(std::move(value));
    made->arguments = arguments();
    return made;
  }

  /// The first one without its mark where `isBare`.
  ExpressionPointer filters(ExpressionPointer value, bool isBare) {
    for (size_t links = 0;; countLink(++links)) {
      if (isBare || takeMark("|")) {
        isBare = false;
        auto made = node(Operation::filter);
        made->text = wantName();
        made->filter = findFilter(made->text); // null: an error where it is reached, as in Jinja
        made->parts.push_back(std::move(value));
        if (isMark("("))
          made->arguments = arguments();
        value = std::move(made);
      } else if (value && isName("is")) {
        value = test(std::move(value));
      } else if (value && isMark("(")) {
        value = call(std::move(value));
      } else {
        return value;
      }
    }
  }

  ExpressionPointer test(ExpressionPointer value) {
    auto made = node(Operation::test);
    ++at;
    made->isNegated = takeName("not");
    made->text = wantName();
    made->test = findTest(made->text);
    made->parts.push_back(std::move(value));
    const bool startsArgument = now().kind == Token::Kind::string || now().kind == Token::Kind::integer ||
                                now().kind == Token::Kind::real || isMark("[") || isMark("{") ||
                                (now().kind == Token::Kind::name && !isName("else") && !isName("or") && !isName("and"));
    if (isMark("(")) {
      made->arguments = arguments();
    } else if (isName("is")) {
      fail("a test cannot follow a test");
    } else if (startsArgument) {
      // An 'if' or 'in' after a test is an argument to Jinja too, and then an error.
      const Nesting level(*this);
      made->arguments.push_back({"", postfix(primary())});
    }
    return made;
  }

  const std::vector<Token> tokens;
  size_t at = 0, nesting = 0, loops = 0;
};

} // namespace

Syntax parseTemplate(std::string_view source) { return {Parser(readTokens(source)).parse()}; }

} // namespace vx::text::jinja
