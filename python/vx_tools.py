"""Starts the command-line tools that the wheels bring: vx, vx-run, vx-compile and so on. It lies beside the package, so that a tool starts without loading it."""
import importlib.util
import os
import sys


def main():
    """Becomes the tool of the name that this was called by."""
    name = os.path.basename(sys.argv[0])
    package = importlib.util.find_spec("vx")
    folder = os.path.dirname(package.origin) if package is not None and package.origin else ""
    tool = os.path.join(folder, "bin", name)
    if not folder or not os.path.exists(tool):
        sys.exit(f"{name}: expected '{tool}': install the wheel vx-{'compiler' if name == 'vx-compile' else 'runtime'} again")
    # The libraries in the wheels name one another, and the loader looks for these here.
    libraries = [os.path.join(folder, "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
    os.execv(tool, [tool, *sys.argv[1:]])


if __name__ == "__main__":
    main()
