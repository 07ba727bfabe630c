"""Writes the weights of a file of PyTorch as safetensors, without PyTorch: python -m vx.convert model.pt out.safetensors"""
import argparse
import sys

from ._convert import convert

__all__ = ["convert", "main"]


def main(arguments=None) -> int:
    """python -m vx.convert. Returns the exit code: 0, or 1 with the reason on standard error."""
    parser = argparse.ArgumentParser(prog="python -m vx.convert", description="Writes the tensors of a file of torch.save as safetensors, without PyTorch.")
    parser.add_argument("source", help="a file of torch.save(module.state_dict(), path)")
    parser.add_argument("output", help="the safetensors file")
    parser.add_argument("--key", help="the place of the state dict in the file's dict, as state_dict or nets/first")
    given = parser.parse_args(arguments)
    try:
        others = convert(given.source, given.output, given.key)
    except (ValueError, OSError) as error:
        print(f"vx.convert: {error}", file=sys.stderr)
        return 1
    if others:
        print(f"left out, as they are no tensors: {', '.join(others)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
