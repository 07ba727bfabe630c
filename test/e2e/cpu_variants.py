"""The variants of the CPU's code, the best first, those that this machine runs, and flags of vx-compile for a test that runs the best one."""

ALL_CPU_VARIANTS = ["avx512+vnni", "avx512", "x86-64-v3"]


def _cpu_variants():
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    if "avx512vl" not in flags:
        return ALL_CPU_VARIANTS[2:]
    return ALL_CPU_VARIANTS if "avx512_vnni" in flags else ALL_CPU_VARIANTS[1:]


CPU_VARIANTS = _cpu_variants()


def variant_flags(targets, variants=()):
    """Those of `variants`, "rocm=gfx942", whose target is among `targets`; and of the CPU's code no more than what runs, as making it is most of a test's time."""
    flags = [f"--{variant}" for variant in variants if variant.split("=")[0] in targets]
    if "cpu" in targets and not any(flag.startswith("--cpu=") for flag in flags):
        flags.append(f"--cpu={CPU_VARIANTS[0]}")
    return flags
