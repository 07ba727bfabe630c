"""Templates and variables that test/text/run_templates.py renders."""
import random

TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city, \"now\" & later.",
                                      "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "The city's name"},
                                                                                      "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                                                                                      "days": {"type": ["integer", "null"], "default": 1}},
                                                     "required": ["city"]}}},
    {"type": "function", "function": {"name": "add", "description": "Adds <two> numbers.\nExactly.", "parameters": {
        "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}, "list": {"type": "array", "items": {"type": "string"}}},
        "required": ["a", "b"]}, "return": {"type": "number"}}},
]


def call(name, arguments, id="call_123"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def conversations():
    """Variables of a chat, as clients send them."""
    hello = [{"role": "user", "content": "Hello, wörld! <b>'quoted'</b> \"double\" \\ {{ braces }}"}]
    several = [{"role": "system", "content": "  You are\nhelpful. "}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!\n\n"},
               {"role": "user", "content": " 日本語 \n"}]
    thinking = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "<think>\nadd\n</think>\n\n4", "reasoning_content": "add them"},
                {"role": "user", "content": "and 3?"}, {"role": "assistant", "content": "5", "reasoning_content": "again"}]
    parts = [{"role": "user", "content": [{"type": "text", "text": "Describe"}, {"type": "text", "text": " it."}]}]
    called = [{"role": "system", "content": "S"}, {"role": "user", "content": "Weather in Paris?"},
              {"role": "assistant", "content": "", "tool_calls": [call("get_weather", {"city": "Paris", "days": 2})]},
              {"role": "tool", "name": "get_weather", "tool_call_id": "call_123", "content": "{\"temperature\": 21.5}"},
              {"role": "assistant", "content": "It is 21.5."}, {"role": "user", "content": "Thanks"}]
    twice = [{"role": "user", "content": "Both"},
             {"role": "assistant", "content": None, "tool_calls": [call("add", {"a": 1, "b": 2.5}, "abcdefghi"), call("get_weather", {"city": "Köln"}, "123456789")]},
             {"role": "tool", "name": "add", "tool_call_id": "abcdefghi", "content": "3.5"},
             {"role": "tool", "name": "get_weather", "tool_call_id": "123456789", "content": "rain"}]
    text_arguments = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call("add", "{\"a\": 1}", "000000001")]},
                      {"role": "tool", "tool_call_id": "000000001", "content": [{"type": "text", "text": "one"}]}]
    wrong = [{"role": "assistant", "content": "first"}, {"role": "assistant", "content": "second"}]
    base = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "add_generation_prompt": True}
    for messages in (hello, several, thinking, parts, called, twice, text_arguments, wrong, [], [{"role": "user", "content": ""}]):
        yield {**base, "messages": messages}
        yield {**base, "messages": messages, "tools": TOOLS, "add_generation_prompt": False}
    yield {**base, "messages": hello, "tools": TOOLS}
    yield {**base, "messages": called, "tools": TOOLS, "enable_thinking": False}
    yield {**base, "messages": several, "tools": None, "enable_thinking": True, "thinking": True, "builtin_tools": ["wolfram_alpha"]}
    yield {**base, "messages": several, "tools": [], "documents": [{"title": "A", "text": "text of A"}], "date_string": "1 Jan 2025"}
    yield {**base, "messages": hello, "tools": TOOLS[:1], "reasoning_effort": "high", "model_identity": "You are a test.", "tools_in_user_message": False}


VALUES = {"s": "a Long text,\n with\ttabs 'and' \"quotes\" é日", "n": 7, "f": 2.5, "z": 0, "t": True, "no": None, "l": [3, 1, 2], "w": ["b", "A", "c", "a"],
          "d": {"b": 1, "a": [1, {"k": "v"}], "items": 5, "é": None}, "e": [], "x": [{"r": "u", "c": 1}, {"r": "a", "c": 2}, {"r": "u", "c": None}, {"q": 1}],
          "m": -3, "big": 1e22, "small": 1.5e-7, "nest": [[1, 2], [3, [4]]]}

# Each part of the language, with what is easy to get wrong.
CASES = [(source, VALUES) for source in (
    "a\n{% if t %}\nb\n{% endif %}\nc\n", "  {% if t %}x{% endif %}  \n", "a {%- if t -%} b {%- endif -%} c", "a\n  {%+ if t %}x{% endif %}\n", "{% if t +%}\nx{% endif %}",
    "{# c #}\nx", "a {#- c -#} b", "x  {# c #}  \ny", "{{ s }}\n", "{{ s }}\n\n", "a\r\nb\rc", "{{- s -}}  x", " {{+ n }}", "{% raw %}{{ x }}{% endraw %}", "a {%- raw -%} {{ x }} {%- endraw -%} b",
    "  {% raw %}\nx\n  {% endraw %}\ny", "{{ '{%' }}", "{{ {'a': {'b': 1}}}}", "{{ {'a': 1}['a'] }}", "{{ \"\\n\\t\\x41\\u00e9\\q\\'\" }}", "{{ 'a' 'b' }}", "{{ 1_000 }} {{ 0x1F }} {{ 0b11 }} {{ 1.5e3 }} {{ 0o17 }}",
    "{% for i in l %}{{ i }}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ loop.revindex0 }},{% endfor %}", "{% for i in e %}x{% else %}none{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% for i in l if i > 1 %}{{ i }}{{ loop.length }}{% endfor %}",
    "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }}{{ loop.cycle('o', 'e') }}{% endfor %}", "{% for i in s %}{{ i }}|{% endfor %}", "{% for i in l %}{% for j in l %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% set a = 1 %}{% for i in l %}{% set a = i %}{{ a }}{% endfor %}{{ a }}", "{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a %}x{{ n }}\n{% endset %}[{{ a }}]", "{% set a | upper %}abc{% endset %}{{ a }}", "{% filter upper %}abc {{ s }}{% endfilter %}", "{% with a = 1, b = n %}{{ a + b }}{% endwith %}{{ a }}",
    "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(1, c=5) }}{{ m() }}", "{% macro m(a) %}{% if a > 0 %}{{ a }}{{ m(a - 1) }}{% endif %}{% endmacro %}{{ m(4) }}",
    "{% macro m() %}{{ g }}{% endmacro %}{% set g = 4 %}{{ m() }}", "{% generation %}x{{ n }}{% endgeneration %}", "{{ undefined_name }}|{{ undefined_name.x }}", "{{ d.nothing }}|{{ d['nothing'] }}", "{{ d['items'] }}",
    "{{ n / 2 }} {{ n // 2 }} {{ n % 2 }} {{ -n // 2 }} {{ -n % 2 }} {{ n ** 2 }} {{ 2 ** -1 }} {{ f * 2 }} {{ f // 2 }} {{ -f % 2 }}", "{{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ -n | abs }} {{ 1 + 2 ~ 3 }} {{ 'a' ~ 1 ~ none ~ true }}",
    "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }} {{ 'a' < 'b' }} {{ l == [3, 1, 2] }} {{ (1, 2) == [1, 2] }}", "{{ 1 in l }} {{ 'a' in 'abc' }} {{ 'a' not in d }} {{ 4 not in l }} {{ 'x' in undefined_name }}",
    "{{ n if t }} {{ n if no }} {{ n if no else f }} {{ 1 if no else 2 if no else 3 }}", "{{ not t }} {{ not e and t }} {{ no or 'x' }} {{ t and 'y' }} {{ 0 or e }}", "{{ s[0] }} {{ s[-1] }} {{ s[2:5] }} {{ s[::-1] }} {{ s[100] }}|{{ l[5] }}|{{ l[::2] }}{{ l[-2:] }}{{ l[:-1] }}{{ l[5:1:-1] }}",
    "{{ l }} {{ d }} {{ (1,) }} {{ () }} {{ (1, 'a') }} {{ {'k': 1.0, 2: none} }} {{ [s] }} {{ big }} {{ small }} {{ 1e16 }} {{ 123456789012345680.0 }} {{ 0.1 }} {{ 1e-5 }} {{ 100.0 }}",
    "{{ d | tojson }} {{ d | tojson(indent=2) }} {{ s | tojson }} {{ [] | tojson(indent=4) }} {{ l | tojson(separators=(',', ':')) }} {{ d | tojson(sort_keys=true) }} {{ d | tojson(ensure_ascii=true) }}", "{{ [1.0, 1e30, none, true, '\\u0001\\x7f'] | tojson(ensure_ascii=true) }}",
    "{{ d | tojson(indent='--') }}", "{{ {1: 2, none: 3, true: 4} | tojson }}", "{{ undefined_name | tojson }}", "{{ x | map(attribute='c') | list }} {{ w | map('upper') | join('-') }} {{ x | map(attribute='c', default='d') | list }}", "{{ x | selectattr('r', 'equalto', 'u') | list | length }}",
    "{{ x | selectattr('r', 'defined') | map(attribute='r') | join }} {{ x | rejectattr('c') | list }} {{ l | select('gt', 1) | list }} {{ l | reject('odd') | list }} {{ l | select | list }}", "{% if e | select %}lazy{% endif %}{% if e | map('upper') %}lazy{% endif %}",
    "{% if (e | select) | reverse %}a{% else %}b{% endif %}{% if e | reverse %}c{% endif %}", "{{ [1, []] | unique | first }}", "{{ [1, []] | unique | select | map('string') | first }}", "{{ 1 in ([1, []] | unique) }}",
    "{% set g = [1, 2, 3] | select %}{{ g | first }}{{ 2 in g }}{{ g | list }}", "{{ [1, []] | unique | list }}", "{{ 3 in ([1, []] | unique) }}",
    "{{ l | map('string') | length }}", "{{ l | sort }} {{ w | sort }} {{ w | sort(case_sensitive=true) }} {{ l | sort(reverse=true) }} {{ d | dictsort }} {{ x | sort(attribute='q') }}", "{{ d.keys() | list }} {{ d.values() | list }} {{ d.items() | list }} {{ d.keys() }}",
    "{{ w | first }} {{ w | last }} {{ e | first }} {{ l | min }} {{ l | max }} {{ l | sum }} {{ w | unique | list }} {{ [1, 1, 2] | unique | list }} {{ l | reverse | list }} {{ s | reverse }}", "{{ s | trim | upper | lower | title | capitalize | length }}", "{{ ' x ' | trim }}|{{ 'xax' | trim('x') }}",
    "{{ 'a b\nc' | indent }}|{{ 'a\n\nb\n' | indent(2) }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(2, blank=true) }}|{{ 'a\nb' | indent('> ') }}", "{{ s | replace('a', 'X') }} {{ s | replace('a', 'X', 1) }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'ab' | replace('', '-') }}",
    "{{ no | default('x') }} {{ no | default('x', true) }} {{ undefined_name | default('y') }} {{ undefined_name.a | default('z') }}", "{{ '3' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ '2.9' | int }} {{ f | int }} {{ '2.5' | float }} {{ n | float }} {{ ' 12 ' | int }} {{ t | int }}",
    "{{ f | round }} {{ 2.675 | round(2) }} {{ 2.5 | round }} {{ 3.5 | round }} {{ 2.1 | round(0, 'ceil') }} {{ n | round }} {{ 1.25 | round(1, 'floor') }}", "{{ l | batch(2) | list }} {{ l | batch(2, 'x') | list }}", "{{ '<a>' | e }} {{ ('<a>' | safe) + '<' }} {{ '<' ~ ('<a>' | safe) }} {{ '<a>' | safe | upper }} {{ ['<' | safe] }}",
    "{{ s.split() }} {{ s.split(' ') }} {{ s.split(' ', 1) }} {{ s.split(None, 2) }} {{ s.rsplit(' ', 1) }} {{ ' a b '.split() }} {{ 'a,b,,c'.split(',') }} {{ ''.split() }} {{ ''.split(',') }} {{ ' a  b c '.rsplit(none, 1) }}", "{{ s.splitlines() }} {{ 'a\nb\n'.splitlines() }} {{ 'a\nb\n'.splitlines(true) }}",
    "{{ ' x '.strip() }}|{{ ' x '.lstrip() }}|{{ ' x '.rstrip() }}|{{ 'xyx'.strip('x') }}|{{ '\n x\n'.strip('\n') }}|{{ 'abc'.lstrip('ba') }}", "{{ s.startswith('a') }} {{ s.endswith(('x', 'é日')) }} {{ 'abc'.startswith('b', 1) }} {{ 'abc'.endswith('b', 0, 2) }}", "{{ s.find('L') }} {{ s.find('日') }} {{ s.find('q9') }} {{ s.count('t') }} {{ s.index('L') }} {{ 'aXbX'.rfind('X') }}",
    "{{ s.upper() }} {{ s.title() }} {{ 'ab cD'.capitalize() }} {{ 'Straße'.upper() }} {{ 'a1 b-c'.title() }} {{ 'a1 b-c(d' | title }}", "{{ '{} {1} {0}'.format(1, 2) }}", "{{ '{} {}'.format(1, 'x') }} {{ '{a:>5}|{b:<5}|{c:^5}|{a:05d}|{d:.2f}|{d:8.3f}|{n:,}'.format(a=7, b='x', c='y', d=3.14159, n=1234567) }} {{ '{{}}'.format() }} {{ '{!r}'.format('a') }}",
    "{{ '%s is %d' % ('x', 3) }} {{ '%5.1f|%-5s|%05d|%x|%%|%r' % (2.25, 'a', 42, 255, 'q') }} {{ '%s' % n }} {{ '%s %s' | format('a', 'b') }} {{ '%(a)s' % {'a': 1} }}", "{{ ','.join(w) }} {{ w | join(', ') }} {{ x | join(',', attribute='c') }} {{ l | join }}", "{{ 'abc'.isalpha() }} {{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }} {{ 'AB'.isupper() }} {{ ''.isdigit() }}",
    "{{ 'ab'.ljust(4, '.') }}|{{ 'ab'.rjust(4) }}|{{ 'abc'.center(6, '*') }}|{{ 'ab'.center(5, '*') }}|{{ 'ab' | center(6) }}|", "{{ 'abc'.removeprefix('a') }}{{ 'abc'.removesuffix('c') }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('=') }}",
    "{{ n is number }} {{ s is string }} {{ d is mapping }} {{ l is iterable }} {{ s is sequence }} {{ no is none }} {{ t is boolean }} {{ t is true }} {{ t is integer }} {{ n is integer }} {{ f is float }} {{ undefined_name is defined }} {{ n is odd }} {{ n is even }} {{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }}",
    "{{ n is eq 7 }} {{ n is not ne 7 }} {{ n is in [7] }} {{ 'a' is lower }} {{ 'A' is upper }} {{ n is sequence }} {{ d.keys() is sequence }} {{ l | map('string') is iterable }} {{ range is callable }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ t is number }}",
    "{{ range(3) }} {{ range(1, 7, 2) | list }} {{ range(3) | list | length }} {{ range(5, 0, -2) | list }} {{ range(3)[1] }} {{ dict(a=1) }} {{ dict([('a', 2)], b=3) }} {{ namespace(a=1) }}", "{{ d.get('b') }} {{ d.get('q') }} {{ d.get('q', 5) }} {{ d.a[1].k }} {{ d.a.1.k }} {{ nest[1][1][0] }}",
    "{{ raise_exception('no: ' ~ n) }}", "{{ strftime_now('%Y-%m-%d %d %b %Y') }}", "{{ l.append(4) }}", "{{ d.update({}) }}", "{{ 1 / 0 }}", "{{ 1 + 'a' }}", "{{ 'a' + 1 }}", "{{ l + [4] }} {{ l * 2 }} {{ 'ab' * 2 }} {{ 3 * 'x' }} {{ (1,) + (2,) }}", "{{ l + (4,) }}", "{{ no.x }}|{{ n.x }}|{{ no.x.y }}", "{{ undefined_name + 1 }}",
    "{{ undefined_name() }}", "{{ n() }}", "{{ l | length(1) }}", "{{ s | nothing }}", "{{ s is nothing }}", "{% nothing %}", "{% if t %}", "{% endif %}", "{{ ", "{{ s", "{% for x %}{% endfor %}", "{{ 'a }}", "{# x", "{% raw %}", "{{ 1 + }}", "{{ [1, 2 }}", "{{ (1 }}", "{% set true = 1 %}", "{% set s.x = 1 %}", "{% break %}",
    "{% for a, b in l %}{% endfor %}", "{% for i in n %}{% endfor %}", "{{ l < d }}", "{{ no < 1 }}", "{{ 'x' in n }}", "{{ 1 in 'x' }}", "{{ m | abs }} {{ -m }} {{ +m }} {{ - 3 }}", "{{ d | items | list }} {{ d | length }} {{ undefined_name | length }} {{ undefined_name | list }} {{ undefined_name | join }}", "{{ n | length }}",
    "{% if undefined_name %}a{% elif e %}b{% elif t %}c{% else %}d{% endif %}", "{% if n == 7 and s is string and l | length > 2 %}y{% endif %}", "{{ x[0]['r'] + x[1].r }}{{ x[-1].q }}{{ x | map(attribute='r') | select('string') | list }}", "{% for m in x %}{%- if loop.first %}F{% endif %}{{ m.r or 'none' }}{%- endfor %}", "{{ (s | upper)[:3] }} {{ s | upper }}",
    "{% set x = x[1:] %}{{ x | length }}", "{% for x in x %}{{ x.c }}{% endfor %}{{ x | length }}", "{% for i in l %}{% if loop.changed(i > 1) %}{{ i }}{% endif %}{% endfor %}", "{{ [1, 2, 3][1:] | sum }} {{ [[1], [2]] | sum(start=[]) }} {{ x | sum(attribute='q') }}", "{{ 'a' if n > 3 else 'b' }}{{ ('a', 'b')[n > 3] }}", "{% set a = [] %}{% for i in l %}{% set a = a + [i] %}{% endfor %}{{ a }}",
    "{{ '\\\\' }}{{ \"'\" }}{{ '\"' }}{{ ['\\'', '\"', '\\'\"'] }}", "{{ 'é' | tojson }}{{ ['é\\u200b\\u00a0'] }}", "{{ true }}{{ True }}{{ none }}{{ None }}{{ false }}", "{% macro a() %}x{% endmacro %}{{ a.name }}", "{{ 5 is odd or false }}", "{{ not n is odd }}", "{{ n is not odd }}", "{{ -1 is number }}", "{{ l[0:1][0] }}", "{{ 07 }}", "{{ 1.5.x }}",
)]

EXPRESSIONS = ("s", "n", "f", "z", "t", "no", "l", "w", "d", "e", "x", "m", "nest", "q", "1", "0", "-2", "2.5", "'a'", "''", "'x y'", "none", "true", "[]", "[1, 2]", "('a', 1)", "{'a': 1}", "d.b", "x[0]", "x[0].r",
               "l[0]", "range(3)", "' pad '")
BINARY = ("+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or")
FILTERS = ("length", "upper", "lower", "trim", "title", "capitalize", "list", "first", "last", "join(',')", "join", "sort", "reverse", "string", "int", "float", "abs", "tojson", "default('D')", "default('D', true)", "unique", "sum", "min", "max",
           "map('string')", "map(attribute='r')", "select", "reject", "select('odd')", "selectattr('r', 'equalto', 'u')", "rejectattr('c')", "items", "dictsort", "indent(2)", "replace('a', 'b')", "batch(2)", "round", "tojson(indent=2)",
           "map('upper')", "sort(reverse=true)", "list", "list", "string", "first")
METHODS = ("strip()", "split()", "split(' ')", "upper()", "lower()", "title()", "startswith('a')", "endswith('')", "replace('a', '')", "find('a')", "items()", "keys()", "values()", "get('a')", "get('b', 1)", "lstrip('a')", "join(w)", "count('a')", "index(1)",
           "splitlines()", "b", "r", "a", "nothing")
TESTS = ("defined", "undefined", "none", "string", "number", "mapping", "iterable", "sequence", "boolean", "integer", "float", "odd", "even", "true", "false", "lower", "upper", "in l", "in s", "eq 1", "gt 1", "ne 'a'", "divisibleby 2", "callable")


def made(count, seed):
    """Templates of random expressions and statements."""
    draw = random.Random(seed)

    def expression(depth):
        kind = draw.random()
        if depth == 0 or kind < 0.15:
            return draw.choice(EXPRESSIONS)
        inner = expression(depth - 1)
        if kind < 0.4:
            return f"({inner} {draw.choice(BINARY)} {expression(depth - 1)})"
        if kind < 0.65:
            return f"({inner} | {draw.choice(FILTERS)})"
        if kind < 0.78:
            return f"({inner}).{draw.choice(METHODS)}"
        if kind < 0.88:
            return f"({inner} is {draw.choice(('', 'not '))}{draw.choice(TESTS)})"
        if kind < 0.93:
            bound = lambda: draw.choice(("", "0", "1", "-1", "5", "-7"))  # noqa: E731
            return f"({inner})[{bound()}:{bound()}{draw.choice(('', ':2', ':-1'))}]"
        if kind < 0.96:
            return f"({inner})[{expression(depth - 1)}]"
        return f"({inner} if {expression(depth - 1)} else {expression(depth - 1)})"

    def space():
        return draw.choice(("", "", " ", "\n", "\n  ", "  \n", "x", " y ", "\t", "\r\n"))

    def tag(text):
        return f"{space()}{{%{draw.choice(('', '', '-', '+'))} {text} {draw.choice(('', '', '-', '+'))}%}}{space()}"

    def statement(depth):
        kind = draw.random()
        if depth == 0 or kind < 0.45:
            return f"{space()}{{{{{draw.choice(('', '', '-'))} {expression(draw.randrange(1, 4))} {draw.choice(('', '', '-'))}}}}}{space()}"
        if kind < 0.6:
            return tag(f"if {expression(2)}") + body(depth) + (tag(f"elif {expression(1)}") + body(depth) if draw.random() < 0.3 else "") + (
                tag("else") + body(depth) if draw.random() < 0.5 else "") + tag("endif")
        if kind < 0.78:
            inside = body(depth) + draw.choice(("", "{{ loop.index }}", tag("if loop.last") + tag("break") + tag("endif"), "{{ i }}", "{{ loop.first }}", tag("continue")))
            return tag(f"for i in {expression(2)}{draw.choice(('', '', ' if i'))}") + inside + (tag("else") + body(depth) if draw.random() < 0.3 else "") + tag("endfor")
        if kind < 0.9:
            return tag(f"set {draw.choice(('q', 'n', 's', 'i'))} = {expression(2)}")
        if kind < 0.94:
            return tag("set q") + body(depth) + tag("endset")
        if kind < 0.97:
            return "{# a comment #}" + space()
        return tag("macro mm(a, b=1)") + body(depth) + "{{ a }}{{ b }}" + tag("endmacro") + "{{ mm(" + expression(1) + ") }}"

    def body(depth):
        return "".join(statement(depth - 1) for _ in range(draw.randrange(1, 3)))

    for _ in range(count):
        yield body(draw.choice((1, 1, 1, 2, 3))), VALUES
