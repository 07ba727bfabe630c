// What every executable of a sanitizer build wants of the sanitizers' runtime, so that it needs no environment. The
// environment (ASAN_OPTIONS and its like) still goes over it.
#define VX_DEFAULT extern "C" __attribute__((visibility("default"), used)) const char *

// The packaged LLVM and protobuf are not instrumented, but the allocators in their headers mark memory as poisoned in
// the code that we compile. The library's half of the same allocator never takes the mark away again.
// LLVM gives a thread that takes part in a link a signal stack of its own, which the sanitizer would take for the one
// that it made.
VX_DEFAULT __asan_default_options() {
  return "allow_user_poisoning=0:detect_stack_use_after_return=1:use_sigaltstack=0";
}

VX_DEFAULT __ubsan_default_options() { return "print_stacktrace=1"; }

// Of the validation layers, for which see below: objects that they count among themselves. No list of suppressions is
// printed: tests compare a program's output.
VX_DEFAULT __lsan_default_suppressions() { return "leak:libVkLayer_khronos_validation.so\n"; }

VX_DEFAULT __lsan_default_options() { return "print_suppressions=0"; }

VX_DEFAULT __tsan_default_options() { return "second_deadlock_stack=1"; }

// The validation layers follow queues on a thread of their own, and are not instrumented: what they do among themselves
// is theirs. Neither is the C++ library, in which an exception counts its references: a thread reads an exception and
// lets it go, and another one frees it later.
VX_DEFAULT __tsan_default_suppressions() {
  return "race:libVkLayer_khronos_validation.so\n"
         "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
