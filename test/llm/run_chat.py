#!/usr/bin/env python3
"""vx-llm chat: conversations with a small model against Jinja2 and NumPy, its commands, and its behaviour at a terminal.

  run_chat.py --bin BUILD/bin
"""
import argparse
import logging
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import time

import jinja2

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(HERE.parent / folder))
from embedding_models import write_json  # noqa: E402
from llama_gguf import letters, write_llama  # noqa: E402
from random_models import llama_settings, llama_weights  # noqa: E402
from run_decoders import Decoders, greedy, tokenizer_json  # noqa: E402

TEMPLATE = "{% for m in messages %}{{ m['role'][0] }}{{ m['content'] }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}a{% endif %}"
WORDS = [*letters(77), "<", ">", "/", "\u010a", "<end>"]  # U+010A stands for the end of a line
WORDS[76] = "zz"  # the last one of `letters` is the special token
TEXTS = [word.replace("\u010a", "\n") for word in WORDS]
END = 81
MOST = 6


def encode(text, special=True):
    """Ids of single letters; no merge of the vocabulary applies to them but one of two letters a."""
    ids = []
    while text:
        token = next(token for token in (["<end>"] if special else []) + (["aa"] if text.startswith("aa") else []) + [text[0]] if text.startswith(token))
        ids.append(TEXTS.index(token))
        text = text[len(token):]
    return ids


class Chat(Decoders):
    def model(self, name, **options):
        settings = llama_settings(vocab_size=len(WORDS), max_position_embeddings=64)
        self.settings, self.tensors = settings, llama_weights(settings, 23)
        path = self.path(name + ".gguf")
        write_llama(path, settings, self.tensors, tokens=WORDS, ends=(END,), **options)
        return self.compile_model(path, name, "cpu")[0]

    def chat(self, module, lines, *flags, code=0):
        command = [os.path.join(self.bin, "vx-llm"), "chat", module, "--device=cpu", f"--max-tokens={MOST}", *flags]
        if not any("--temperature" in flag for flag in flags):
            command.append("--temperature=0")
        ran = subprocess.run(command, input=lines if isinstance(lines, bytes) else lines.encode(), capture_output=True, env=self.environment())
        said = ran.stderr.decode()
        self.check(f"vx-llm chat {' '.join(flags)} ends with {code}", ran.returncode == code, f"{ran.returncode}: {said}")
        return ran.stdout.decode(), said

    def answers(self, messages, system=None):
        """The answers of the model to the messages of a conversation."""
        conversation = [{"role": "system", "content": system}] if system else []
        said = []
        for message in messages:
            conversation.append({"role": "user", "content": message})
            # A text that spells a special token stays plain: a mark is rendered in its place. The others are tokenised with what stands around them.
            marked = [{**entry, "content": f"\x01{i}\x01" if "<end>" in entry["content"] else entry["content"]} for i, entry in enumerate(conversation)]
            text = jinja2.Template(TEMPLATE).render(messages=marked, eos_token="<end>", add_generation_prompt=True)
            ids = []
            for place, part in enumerate(text.split("\x01")):
                ids += encode(conversation[int(part)]["content"], special=False) if place % 2 else encode(part)
            tokens, _ = greedy(self.settings, self.tensors, ids, MOST, END)
            said.append("".join(TEXTS[token] for token in tokens))
            conversation.append({"role": "assistant", "content": said[-1]})
        return said


def check_conversations(bench):
    module = bench.model("chat", template=TEMPLATE)
    for title, messages, system in (("two messages", ["hello", "world"], None), ("a system message", ["hello"], "bebrief"), ("a special token in a message", ["x<end>uy", "z"], None),
                                    ("a special token in an earlier message", ["<end>", "b", "c"], "q<end>")):
        out, _ = bench.chat(module, "\n".join(messages) + "\n", *(["--system", system] if system else []))
        want = bench.answers(messages, system)
        bench.check(title, out == "".join(answer + "\n" for answer in want), (out, want))
    first, again = bench.answers(["hello"])[0], bench.answers(["world"])[0]
    out, _ = bench.chat(module, "hello\n/clear\nworld\n")
    bench.check("/clear forgets", out == f"{first}\n{again}\n", (out, first, again))
    out, _ = bench.chat(module, "hello\n/system bebrief\nhello\n/history\n/system\nhello\n/exit\nworld\n")
    brief = bench.answers(["hello"], "bebrief")[0]
    bench.check("/system, /history, /exit", out == f"{first}\n{brief}\nsystem: bebrief\nuser: hello\nassistant: {brief}\n{first}\n", out)
    out, _ = bench.chat(module, "hello\n/retry\n")
    bench.check("/retry answers again", out == f"{first}\n{first}\n", out)
    out, _ = bench.chat(module, "hello\n/retry\n", "--temperature=3", "--seed=5")
    bench.check("/retry draws again", len(set(out.split("\n"))) == 3, out)
    out, _ = bench.chat(module, "hel\\\nlo\n\n")
    bench.check("a line goes on", out == bench.answers(["hel\nlo"])[0] + "\n", out)
    out, _ = bench.chat(module, "//help\n")
    bench.check("a message that begins with a stroke", out == bench.answers(["/help"])[0] + "\n", out)
    out, _ = bench.chat(module, "/help\n")
    bench.check("/help", all(command in out for command in ("/clear", "/system", "/history", "/retry", "/exit")), out)
    _, said = bench.chat(module, "")
    bench.check("the device is told", "vx-llm: llama on cpu" in said and "context 64" in said, said)
    out, said = bench.chat(module, "/nonsense\n", code=2)
    bench.check("an unknown command", "expected /help, /clear, /system, /history, /retry or /exit, got '/nonsense'" in said, said)
    out, said = bench.chat(module, "/clear now\n", code=2)
    bench.check("a command with more", "expected nothing after /clear, got 'now'" in said, said)
    out, said = bench.chat(module, "/retry\n", code=2)
    bench.check("nothing to retry", "expected an answer before /retry, got none" in said, said)
    out, said = bench.chat(module, "x" * 70 + "\n", code=2)
    bench.check("a message that does not fit", "the prompt has 73 tokens, but the context has room for 64" in said, said)
    out, said = bench.chat(module, b"\xff\xfe\n", code=2)
    bench.check("a message that is no UTF-8", "a message is no UTF-8" in said, said)
    # A conversation that no longer fits ends, and nothing of it is cut.
    out, said = bench.chat(module, "abcdefghijklmnopqrstuvwxyz\n" * 3, code=2)
    bench.check("a conversation that outgrows the context", 0 < out.count("\n") < 3 and "tokens, but the context has room for 64" in said, (out, said))


def check_models(bench):
    module = bench.model("plain")
    _, said = bench.chat(module, "hello\n", code=3)
    bench.check("no template", "the model has no chat template" in said, said)
    module = bench.model("wrong", template="{% include 'a' %}")
    _, said = bench.chat(module, "hello\n", code=3)
    bench.check("a template that is not supported", "line 1" in said and "include" in said, said)
    module = bench.model("refusing", template="{{ raise_exception('no users here') }}")
    _, said = bench.chat(module, "hello\n", code=2)
    bench.check("a template that refuses", "no users here" in said, said)
    # A template that writes a part of a message, or the character of a mark: only a message with a special token needs it whole.
    for name, template in (("cutting", TEMPLATE.replace("m['content']", "m['content'][:2]")), ("marking", "\ue000x\ue000" + TEMPLATE), ("marking once", TEMPLATE + "\ue000")):
        module = bench.model(name, template=template)
        _, said = bench.chat(module, "x<end>y\n", code=2)
        bench.check(f"a template that is {name} a message", "a message spells a special token, and the chat template does not write this message as it is" in said, said)
    bench.model("cut", template=TEMPLATE.replace("m['content']", "m['content'][:2]"))
    out, _ = bench.chat(bench.path("cut.vxm"), "hello\n")
    bench.check("a part of a message", out == bench.answers(["he"])[0] + "\n", out)
    # A folder: the template in its own file, in tokenizer_config.json, and by its name in a list.
    named = [{"name": "tool_use", "template": "{{ x.y }}"}, {"name": "default", "template": TEMPLATE}]
    for title, config, file in (("a key", {"chat_template": TEMPLATE, "eos_token": "<end>"}, None), ("a list", {"chat_template": named, "eos_token": {"content": "<end>"}}, None),
                                ("a file", {"chat_template": "{{ x.y }}", "eos_token": "<end>"}, TEMPLATE)):
        folder = bench.folder_of(f"folder of {title}", bench.settings, bench.tensors)
        tokenizer = tokenizer_json(len(WORDS))
        tokenizer["model"] |= {"vocab": {token: i for i, token in enumerate(WORDS)}, "merges": ["a a"]}
        write_json(f"{folder}/tokenizer.json", tokenizer)
        write_json(f"{folder}/tokenizer_config.json", config)
        write_json(f"{folder}/generation_config.json", {"eos_token_id": END})
        if file:
            pathlib.Path(folder, "chat_template.jinja").write_text(file)
        module, _ = bench.compile_model(folder, f"of {title}", "cpu")
        out, _ = bench.chat(module, "hello\n")
        bench.check(f"a folder, the template as {title}", out == bench.answers(["hello"])[0] + "\n", out)
    for config, message in (({"chat_template": 3}, "'chat_template': expected a template, or a list with one of the name \"default\", got 3"),
                            ({"eos_token": 3}, "'eos_token': expected the text of a token, or an object with 'content', got 3")):
        write_json(f"{folder}/tokenizer_config.json", config)
        os.path.exists(f"{folder}/chat_template.jinja") and os.remove(f"{folder}/chat_template.jinja")
        _, said = bench.tool("vx-compile", folder, "--target=cpu", "-o", bench.path("no.vxm"), code=3)
        bench.check(f"refused: {message}", message in said, said)
    for flags, message in ((["chat", module, "--prompt", "a"], "--prompt goes with run"), (["chat", module, "--json"], "--json goes with show, run, perplexity and bench"),
                           (["run", module, "--prompt", "a", "--system", "b"], "--system goes with chat"), (["chat"], "chat: expected a module (.vxm), a GGUF file or a folder")):
        _, said = bench.tool("vx-llm", *flags, code=2)
        bench.check(f"refused: {' '.join(flags[::2])}", message in said, said)


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, command, environment):
        self.child, self.file = pty.fork()
        if self.child == 0:
            os.execve(command[0], command, {**environment, "TERM": "xterm"})
        self.text = ""

    def expect(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            if time.monotonic() > end:
                raise SystemExit(f"FAILED: no {pattern!r} at the terminal: {self.text!r}")
            os.set_blocking(self.file, False)
            try:
                self.text += os.read(self.file, 65536).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.01)
        seen, self.text = self.text, ""
        return seen

    def type(self, text):
        os.write(self.file, text.encode())

    def end(self):
        _, status = os.waitpid(self.child, 0)
        return os.waitstatus_to_exitcode(status)


def check_terminal(bench):
    settings = llama_settings(vocab_size=len(WORDS), max_position_embeddings=100_000)
    path = bench.path("long.gguf")
    write_llama(path, settings, llama_weights(settings, 23), tokens=WORDS, template=TEMPLATE)  # nothing ends an answer
    module, _ = bench.compile_model(path, "long", "cpu")
    command = [os.path.join(bench.bin, "vx-llm"), "chat", module, "--device=cpu", "--temperature=0", "--context=100000"]
    terminal = Terminal(command, {key: value for key, value in bench.environment().items() if key != "NO_COLOR"})
    shown = terminal.expect("> ")
    bench.check("commands are told, and colours", "/help has the commands" in shown, shown)
    terminal.type("hello\r")
    terminal.expect("hello\r\n[a-z]{3}")
    terminal.type("\x03")
    shown = terminal.expect("\x1b\\[1m> ")
    bench.check("Ctrl-C ends the answer", True, shown)
    terminal.type("\x03")
    terminal.expect("> ")
    terminal.type("/history\r")
    shown = terminal.expect("assistant: [^:]+\r\n.*> ")
    bench.check("what was answered is kept", "user: hello" in shown, shown)
    terminal.type("b\r")  # neither key ends the next answer
    terminal.expect("b\r\n[a-z<>/]{3}")
    terminal.type("\x03")
    terminal.expect("> ")
    terminal.type("/nonsense\r")
    shown = terminal.expect("got '/nonsense'\r\n.*> ")
    bench.check("a mistake is told", True, shown)
    terminal.type("/exit\r")
    bench.check("/exit", terminal.end() == 0)
    terminal = Terminal(command, {**bench.environment(), "NO_COLOR": "1"})
    shown = terminal.expect("> ")
    bench.check("NO_COLOR", "\x1b[" not in shown, shown)
    terminal.type("\x04")
    bench.check("Ctrl-D", terminal.end() == 0)


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Chat(options.bin, folder, ["cpu"])
        check_conversations(bench)
        check_models(bench)
        check_terminal(bench)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
