"""Embeddings by OpenAI's interface and by our own."""
import asyncio
import base64

import numpy as np
import openai

from api_keys import USER, write_keys
from embedding_models import VOCABULARY, Folder, texts
from served import Server, metric


def check_embeddings(bench, folder):
    url = "/v1/embeddings"
    given = [text for text in texts(40, 3, longest=12) if text]
    want, tokens = folder.expected(given)
    with Server(bench, f"--model-dir={bench.path('models')}", f"--model={bench.path('tiny.vxm')}", name="embeddings") as server:
        server.wait_until_ready()
        status, _, data = server.ask("POST", url, {"model": "tiny", "input": given})
        bench.check("the answer's form", status == 200 and data["object"] == "list" and data["model"] == "tiny" and data["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}, data if status != 200 else data["usage"])
        bench.compare("vectors of a list", np.array([row["embedding"] for row in data["data"]], np.float32), want)
        bench.check("numbers of a list", [row["index"] for row in data["data"]] == list(range(len(given))))
        status, _, data = server.ask("POST", "/api/v1/embeddings", {"model": "tiny", "input": given[0], "pooling": "cls", "normalize": True})
        bench.compare("our own path", np.array(data["embeddings"], np.float32), folder.expected(given[:1], pooling="cls", normalize=True)[0])
        ids = folder.tokenizer.encode(given[0])[0]
        status, _, data = server.ask("POST", url, {"model": "tiny", "input": [ids, ids]})
        bench.compare("vectors of tokens", np.array([row["embedding"] for row in data["data"]], np.float32), np.concatenate([want[:1]] * 2))
        # Sixteen at once are batches: order and count are each one's own.
        answers = server.ask_many([("POST", url, {"model": "tiny", "input": given[i : i + 3]}) for i in range(0, len(given) - 3)])
        bench.compare("vectors of requests side by side", np.array([row["embedding"] for _, _, data in answers for row in data["data"]], np.float32), np.concatenate([want[i : i + 3] for i in range(0, len(given) - 3)]))

        for what, body, message in (("nothing", {"input": []}, "'input': expected 1 to 2048 texts, got 0"), ("an empty text", {"input": ["a", ""]}, "'input[1]' is empty"), ("no input", {}, "'input' is missing"),
                                    ("a long text", {"input": "the " * 80}, f"'input': the model takes {folder.max_tokens} tokens, got 82"), ("a number", {"input": 1}, "'input': expected a string or a list of tokens, got a number"),
                                    ("a mixed list", {"input": ["a", 1]}, "'input[1]': expected a string or a list of tokens, got a number"), ("no token", {"input": [[-1]]}, "'input[0][0]': expected the number of a token, got -1"),
                                    ("a token that there is not", {"input": [[5, 6, 7], [4, 10**6]]}, f"'input[1]': expected tokens from 0 to {len(VOCABULARY) - 1}, got 1000000 at position 1"),
                                    ("a form", {"input": "a", "encoding_format": "hex"}, "'encoding_format': expected 'float' or 'base64', got 'hex'"), ("a pooling", {"input": "a", "pooling": "max"}, "'pooling': expected 'cls', 'mean' or 'last', got 'max'"),
                                    ("dimensions", {"input": "a", "dimensions": 99}, "'dimensions': expected 1 to 24, got 99"), ("a field", {"input": "a", "inputs": "b"}, None)):
            status, _, data = server.ask("POST", url, {"model": "tiny", **body})
            bench.check(f"{what} is refused", status == 400 and (message is None or data["error"]["message"] == message), (status, data))
        status, _, data = server.ask("POST", url, {"model": "tiny", "input": "the " * 80, "truncate": True})
        long = server.ask("POST", url, {"model": "tiny", "input": "the " * 80})[2]["error"]
        bench.check("what is too long has a code of its own", (long["code"], long["param"]) == ("context_length_exceeded", "input"), long)
        bench.check("what is long may be cut", status == 200 and data["usage"]["total_tokens"] == folder.max_tokens, (status, data.get("usage")))

        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
        answer = client.embeddings.create(model="tiny", input=given)  # as base64
        bench.compare("openai", np.array([row.embedding for row in answer.data], np.float32), want)
        bench.check("openai: usage and models", answer.usage.total_tokens == tokens and "tiny" in [model.id for model in client.models.list()] and client.models.retrieve("tiny").id == "tiny")
        raw = server.ask("POST", url, {"model": "tiny", "input": given[0], "encoding_format": "base64"})[2]["data"][0]["embedding"]
        bench.check("base64 is of f32", np.allclose(np.frombuffer(base64.b64decode(raw), "<f4"), want[0], atol=1e-5))

        async def ask_side_by_side():
            async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none") as several:
                return await asyncio.gather(*(several.embeddings.create(model="tiny", input=text) for text in given))

        bench.compare("openai, side by side", np.array([answer.data[0].embedding for answer in asyncio.run(ask_side_by_side())], np.float32), want)
        for kind, call in ((openai.NotFoundError, lambda: client.embeddings.create(model="tinny", input="a")), (openai.BadRequestError, lambda: client.embeddings.create(model="tiny", input="")),
                           (openai.BadRequestError, lambda: client.embeddings.create(model="tiny", input="a", dimensions=0))):
            try:
                call()
                bench.check(f"openai: {kind.__name__}", False, "it is answered")
            except openai.APIStatusError as error:
                bench.check(f"openai: {kind.__name__}", type(error) is kind and error.body["code"], error)
        metrics = server.ask("GET", "/metrics")[2].decode()
        bench.check("embeddings are counted", 'vx_embeddings_total{model="tiny"}' in metrics)


def check_deterministic(bench):
    """The same bits whoever else asks, of a model whose numbers tell how many texts of which length are run together."""
    bench.tool("vx-compile", Folder(bench.path("sizes"), max_tokens=60, sizes=True).path, "--target=cpu", "-o", bench.path("sizes.vxm"))
    given = [text for text in texts(64, 5, longest=60) if text]
    with open(bench.path("deterministic.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[[vx.server.model]]\nname = "tiny"\npath = "{bench.path("sizes.vxm")}"\ndeterministic = true\n[vx.server.limits]\nbatch_size = 8\n')
    with Server(bench, f"--config={bench.path('deterministic.toml')}", name="deterministic") as server:
        server.wait_until_ready()
        requests = [("POST", "/v1/embeddings", {"model": "tiny", "input": given[i : i + 1 + i % 3], "encoding_format": "base64", "truncate": True}) for i in range(0, len(given) - 3)]
        alone = [server.ask(*request)[2]["data"] for request in requests]
        together = [data["data"] for _, _, data in server.ask_many(requests)]
        bench.check("embeddings have the same bits whoever else asks", alone == together, sum(a != b for a, b in zip(alone, together)))
        # Its rows are not proved to be apart, so each text is run by itself, which is the same in any company: nothing is filled up.
        rows = metric(server, 'vx_batch_rows_sum{model="tiny"}')
        filled = metric(server, 'vx_filled_rows_total{model="tiny"}')
        bench.check("and what that costs is counted", rows == 2 * sum(len(data) for data in alone) and filled == 0, (rows, filled))


def check_openai_keys(bench):
    keys = bench.path("openai-keys")
    write_keys(keys, (USER, "app", "user"))
    with open(bench.path("openai.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\napi_keys_file = "{keys}"\n[vx.server.limits]\nper_key = "2/s"\n')
    with Server(bench, f"--config={bench.path('openai.toml')}", name="openai") as server:
        server.wait_until_ready()
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key=USER, max_retries=0)
        try:
            client.with_options(api_key="wrong").models.list()
            bench.check("openai: a wrong key", False)
        except openai.AuthenticationError:
            bench.check("openai: a wrong key", True)
        try:
            for _ in range(4):
                client.models.list()
            bench.check("openai: above the rate", False)
        except openai.RateLimitError as error:
            bench.check("openai: above the rate", error.body["code"] == "rate_limited", error)
        bench.check("openai comes again when it is told to", len(list(client.with_options(max_retries=3).models.list())) >= 1)
