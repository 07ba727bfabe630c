// Functions that LLVM may call in place of code (memory, remainders, conversions of f16 and bf16, roundings). Each is
// compiled for the variant of the image that needs it.

// Memory. LLVM's own idiom recognition is off, so these loops do not become calls of themselves.
func.func @memset(%destination: !llvm.ptr, %value: i32, %size: i64) -> !llvm.ptr {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %byte = arith.trunci %value : i32 to i8
  scf.for %i = %c0 to %size step %c1 : i64 {
    %at = llvm.getelementptr %destination[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    llvm.store %byte, %at : i8, !llvm.ptr
  }
  return %destination : !llvm.ptr
}

func.func @memcpy(%destination: !llvm.ptr {llvm.noalias}, %source: !llvm.ptr {llvm.noalias, llvm.readonly}, %size: i64) -> !llvm.ptr {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  scf.for %i = %c0 to %size step %c1 : i64 {
    %from = llvm.getelementptr %source[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %to = llvm.getelementptr %destination[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %byte = llvm.load %from : !llvm.ptr -> i8
    llvm.store %byte, %to : i8, !llvm.ptr
  }
  return %destination : !llvm.ptr
}

func.func @memmove(%destination: !llvm.ptr, %source: !llvm.ptr, %size: i64) -> !llvm.ptr {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %d = llvm.ptrtoint %destination : !llvm.ptr to i64
  %s = llvm.ptrtoint %source : !llvm.ptr to i64
  %distance = arith.subi %d, %s : i64
  // As unsigned: a destination below the source, or behind its end, is safe to fill upwards.
  %upwards = arith.cmpi uge, %distance, %size : i64
  scf.if %upwards {
    scf.for %i = %c0 to %size step %c1 : i64 {
      %from = llvm.getelementptr %source[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %to = llvm.getelementptr %destination[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %byte = llvm.load %from : !llvm.ptr -> i8
      llvm.store %byte, %to : i8, !llvm.ptr
    }
  } else {
    scf.for %i = %c0 to %size step %c1 : i64 {
      %left = arith.subi %size, %i : i64
      %last = arith.subi %left, %c1 : i64
      %from = llvm.getelementptr %source[%last] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %to = llvm.getelementptr %destination[%last] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %byte = llvm.load %from : !llvm.ptr -> i8
      llvm.store %byte, %to : i8, !llvm.ptr
    }
  }
  return %destination : !llvm.ptr
}
