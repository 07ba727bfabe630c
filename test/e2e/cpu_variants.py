"""The variants of the CPU's code that this machine runs, the best first, and flags of vx-compile for a test that runs the best one."""


def _cpu_variants():
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    if "avx512vl" not in flags:
        return ["x86-64-v3"]
    return (["avx512+vnni"] if "avx512_vnni" in flags else []) + ["avx512", "x86-64-v3"]


CPU_VARIANTS = _cpu_variants()


def variant_flags(targets, variants=()):
    """Those of `variants`, "rocm=gfx942", whose target is among `targets`; and of the CPU's code no more than what runs, as making it is most of a test's time."""
    flags = [f"--{variant}" for variant in variants if variant.split("=")[0] in targets]
    if "cpu" in targets and not any(flag.startswith("--cpu=") for flag in flags):
        flags.append(f"--cpu={CPU_VARIANTS[0]}")
    return flags
