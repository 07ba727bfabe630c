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

// Fused multiply-add where the processor has none.

// f32: the product is exact in f64. The sum is rounded to odd, so that rounding it again to f32 is right.
func.func @fmaf(%x: f32, %y: f32, %z: f32) -> f32 {
  %a = arith.extf %x : f32 to f64
  %b = arith.extf %y : f32 to f64
  %c = arith.extf %z : f32 to f64
  %p = arith.mulf %a, %b : f64
  %s = func.call @vx.add_round_odd(%p, %c) : (f64, f64) -> f64
  %r = arith.truncf %s : f64 to f32
  return %r : f32
}

// a + b rounded to odd: an inexact sum gets the neighbour whose last bit is set.
func.func @vx.add_round_odd(%a: f64, %b: f64) -> f64 {
  %s = arith.addf %a, %b : f64
  %part = arith.subf %s, %a : f64
  %u = arith.subf %s, %part : f64
  %v = arith.subf %a, %u : f64
  %w = arith.subf %b, %part : f64
  %error = arith.addf %v, %w : f64
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %cm1 = arith.constant -1 : i64
  // False also for the NaN that an infinite sum leaves here.
  %inexact = arith.cmpf one, %error, %zero : f64
  %bits = arith.bitcast %s : f64 to i64
  %last = arith.andi %bits, %c1 : i64
  %even = arith.cmpi eq, %last, %c0 : i64
  %adjust = arith.andi %inexact, %even : i1
  %errorUp = arith.cmpf ogt, %error, %zero : f64
  %sumUp = arith.cmpf ogt, %s, %zero : f64
  %away = arith.cmpi eq, %errorUp, %sumUp : i1
  %step = arith.select %away, %c1, %cm1 : i64
  %moved = arith.addi %bits, %step : i64
  %chosen = arith.select %adjust, %moved, %bits : i64
  %r = arith.bitcast %chosen : i64 to f64
  return %r : f64
}

// f64, after Boldo and Melquiond: exact product and sums of two parts each, the small ones joined by rounding to odd. Right
// unless the exact product overflows or falls below the normal numbers.
func.func @fma(%x: f64, %y: f64, %z: f64) -> f64 {
  %splitter = arith.constant 134217729.0 : f64
  %xs = arith.mulf %x, %splitter : f64
  %xd = arith.subf %xs, %x : f64
  %xh = arith.subf %xs, %xd : f64
  %xl = arith.subf %x, %xh : f64
  %ys = arith.mulf %y, %splitter : f64
  %yd = arith.subf %ys, %y : f64
  %yh = arith.subf %ys, %yd : f64
  %yl = arith.subf %y, %yh : f64
  %uh = arith.mulf %x, %y : f64
  %hh = arith.mulf %xh, %yh : f64
  %e0 = arith.subf %hh, %uh : f64
  %hl = arith.mulf %xh, %yl : f64
  %e1 = arith.addf %e0, %hl : f64
  %lh = arith.mulf %xl, %yh : f64
  %e2 = arith.addf %e1, %lh : f64
  %ll = arith.mulf %xl, %yl : f64
  %ul = arith.addf %e2, %ll : f64
  %t:2 = func.call @vx.two_sum(%z, %ul) : (f64, f64) -> (f64, f64)
  %v:2 = func.call @vx.two_sum(%uh, %t#0) : (f64, f64) -> (f64, f64)
  %small = func.call @vx.add_round_odd(%t#1, %v#1) : (f64, f64) -> f64
  %sum = arith.addf %v#0, %small : f64
  // Infinities, NaN and products out of range: as the two operations give them.
  %plain = arith.addf %uh, %z : f64
  %ordered = arith.cmpf ord, %sum, %sum : f64
  %r = arith.select %ordered, %sum, %plain : f64
  return %r : f64
}

func.func @vx.two_sum(%a: f64, %b: f64) -> (f64, f64) {
  %s = arith.addf %a, %b : f64
  %part = arith.subf %s, %a : f64
  %u = arith.subf %s, %part : f64
  %v = arith.subf %a, %u : f64
  %w = arith.subf %b, %part : f64
  %error = arith.addf %v, %w : f64
  return %s, %error : f64, f64
}

// The remainder with the sign of the dividend, bit by bit.
func.func @fmodf(%x: f32, %y: f32) -> f32 {
  %a = arith.extf %x : f32 to f64
  %b = arith.extf %y : f32 to f64
  %r = func.call @fmod(%a, %b) : (f64, f64) -> f64
  %f = arith.truncf %r : f64 to f32
  return %f : f32
}

// The 53 bits of a positive number's mantissa, the first of them 1, and its biased exponent.
func.func @vx.decompose(%bits: i64) -> (i64, i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c11 = arith.constant 11 : i64
  %c52 = arith.constant 52 : i64
  %fractionMask = arith.constant 0xfffffffffffff : i64
  %implicit = arith.constant 0x10000000000000 : i64
  %stored = arith.shrui %bits, %c52 : i64
  %fraction = arith.andi %bits, %fractionMask : i64
  %isNormal = arith.cmpi ne, %stored, %c0 : i64
  %full = arith.ori %fraction, %implicit : i64
  %mantissa = arith.select %isNormal, %full, %fraction : i64
  %exponent = arith.maxsi %stored, %c1 : i64
  %zeros = math.ctlz %mantissa : i64
  %shift = arith.subi %zeros, %c11 : i64
  %m = arith.shli %mantissa, %shift : i64
  %e = arith.subi %exponent, %shift : i64
  return %m, %e : i64, i64
}

func.func @fmod(%x: f64, %y: f64) -> f64 {
  %mask = arith.constant 0x7fffffffffffffff : i64
  %infinity = arith.constant 0x7ff0000000000000 : i64
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c52 = arith.constant 52 : i64
  %xBits = arith.bitcast %x : f64 to i64
  %yBits = arith.bitcast %y : f64 to i64
  %xSize = arith.andi %xBits, %mask : i64
  %ySize = arith.andi %yBits, %mask : i64
  %sign = arith.xori %xBits, %xSize : i64
  %yZero = arith.cmpi eq, %ySize, %c0 : i64
  %yNaN = arith.cmpi sgt, %ySize, %infinity : i64
  %xBad = arith.cmpi sge, %xSize, %infinity : i64
  %bad0 = arith.ori %yZero, %yNaN : i1
  %bad = arith.ori %bad0, %xBad : i1
  %less = arith.cmpi slt, %xSize, %ySize : i64
  %r = scf.if %bad -> f64 {
    %nan = arith.constant 0x7FF8000000000000 : f64
    scf.yield %nan : f64
  } else {
    %inner = scf.if %less -> f64 {
      scf.yield %x : f64
    } else {
      %x1:2 = func.call @vx.decompose(%xSize) : (i64) -> (i64, i64)
      %y1:2 = func.call @vx.decompose(%ySize) : (i64) -> (i64, i64)
      %steps = arith.subi %x1#1, %y1#1 : i64
      %m = scf.for %i = %c0 to %steps step %c1 iter_args(%value = %x1#0) -> (i64) : i64 {
        %small = arith.subi %value, %y1#0 : i64
        %fits = arith.cmpi sge, %value, %y1#0 : i64
        %reduced = arith.select %fits, %small, %value : i64
        %double = arith.shli %reduced, %c1 : i64
        scf.yield %double : i64
      }
      %last = arith.subi %m, %y1#0 : i64
      %fits = arith.cmpi sge, %m, %y1#0 : i64
      %rest = arith.select %fits, %last, %m : i64
      // rest * 2^(exponent - 1075), exactly: the power in two halves, neither out of range.
      %number = arith.sitofp %rest : i64 to f64
      %c1075 = arith.constant 1075 : i64
      %c1023 = arith.constant 1023 : i64
      %power = arith.subi %y1#1, %c1075 : i64
      %half = arith.shrsi %power, %c1 : i64
      %other = arith.subi %power, %half : i64
      %halfBiased = arith.addi %half, %c1023 : i64
      %otherBiased = arith.addi %other, %c1023 : i64
      %halfBits = arith.shli %halfBiased, %c52 : i64
      %otherBits = arith.shli %otherBiased, %c52 : i64
      %halfScale = arith.bitcast %halfBits : i64 to f64
      %otherScale = arith.bitcast %otherBits : i64 to f64
      %scaled0 = arith.mulf %number, %otherScale : f64
      %scaled = arith.mulf %scaled0, %halfScale : f64
      %bits = arith.bitcast %scaled : f64 to i64
      %signed = arith.ori %bits, %sign : i64
      %result = arith.bitcast %signed : i64 to f64
      scf.yield %result : f64
    }
    scf.yield %inner : f64
  }
  return %r : f64
}

// Roundings to whole numbers. Sizes from 2^52 on are whole.
func.func @trunc(%x: f64) -> f64 {
  %big = arith.constant 4503599627370496.0 : f64
  %size = math.absf %x : f64
  %small = arith.cmpf olt, %size, %big : f64
  %zero = arith.constant 0.0 : f64
  %safe = arith.select %small, %x, %zero : f64
  %whole = arith.fptosi %safe : f64 to i64
  %back = arith.sitofp %whole : i64 to f64
  %signed = math.copysign %back, %x : f64
  %r = arith.select %small, %signed, %x : f64
  return %r : f64
}
func.func @floor(%x: f64) -> f64 {
  %t = func.call @trunc(%x) : (f64) -> f64
  %one = arith.constant 1.0 : f64
  %below = arith.subf %t, %one : f64
  %above = arith.cmpf ogt, %t, %x : f64
  %r = arith.select %above, %below, %t : f64
  return %r : f64
}
func.func @ceil(%x: f64) -> f64 {
  %t = func.call @trunc(%x) : (f64) -> f64
  %one = arith.constant 1.0 : f64
  %next = arith.addf %t, %one : f64
  %signed = math.copysign %next, %x : f64
  %below = arith.cmpf olt, %t, %x : f64
  %r = arith.select %below, %signed, %t : f64
  return %r : f64
}
func.func @roundeven(%x: f64) -> f64 {
  %big = arith.constant 4503599627370496.0 : f64
  %size = math.absf %x : f64
  %sum = arith.addf %size, %big : f64
  %whole = arith.subf %sum, %big : f64
  %signed = math.copysign %whole, %x : f64
  %small = arith.cmpf olt, %size, %big : f64
  %r = arith.select %small, %signed, %x : f64
  return %r : f64
}
func.func @rint(%x: f64) -> f64 {
  %r = func.call @roundeven(%x) : (f64) -> f64
  return %r : f64
}
func.func @truncf(%x: f32) -> f32 {
  %a = arith.extf %x : f32 to f64
  %t = func.call @trunc(%a) : (f64) -> f64
  %r = arith.truncf %t : f64 to f32
  return %r : f32
}
func.func @floorf(%x: f32) -> f32 {
  %a = arith.extf %x : f32 to f64
  %t = func.call @floor(%a) : (f64) -> f64
  %r = arith.truncf %t : f64 to f32
  return %r : f32
}
func.func @ceilf(%x: f32) -> f32 {
  %a = arith.extf %x : f32 to f64
  %t = func.call @ceil(%a) : (f64) -> f64
  %r = arith.truncf %t : f64 to f32
  return %r : f32
}
func.func @roundevenf(%x: f32) -> f32 {
  %a = arith.extf %x : f32 to f64
  %t = func.call @roundeven(%a) : (f64) -> f64
  %r = arith.truncf %t : f64 to f32
  return %r : f32
}
func.func @rintf(%x: f32) -> f32 {
  %r = func.call @roundevenf(%x) : (f32) -> f32
  return %r : f32
}

// Conversions of f16 and bf16, to nearest even, as integers.
func.func @__extendhfsf2(%x: f16) -> f32 {
  %bits16 = arith.bitcast %x : f16 to i16
  %bits = arith.extui %bits16 : i16 to i32
  %c10 = arith.constant 10 : i32
  %c13 = arith.constant 13 : i32
  %c16 = arith.constant 16 : i32
  %signMask = arith.constant 0x8000 : i32
  %sizeMask = arith.constant 0x7fff : i32
  %sign0 = arith.andi %bits, %signMask : i32
  %sign = arith.shli %sign0, %c16 : i32
  %size = arith.andi %bits, %sizeMask : i32
  // Subnormal: a whole number of 2^-24.
  %count = arith.uitofp %size : i32 to f32
  %unit = arith.constant 0x33800000 : f32
  %subnormal = arith.mulf %count, %unit : f32
  %subnormalBits = arith.bitcast %subnormal : f32 to i32
  %moved = arith.shli %size, %c13 : i32
  %rebias = arith.constant 0x38000000 : i32
  %normalBits = arith.addi %moved, %rebias : i32
  // Infinity and NaN: the exponent becomes the greatest again.
  %infinityBits = arith.addi %normalBits, %rebias : i32
  %firstNormal = arith.constant 0x0400 : i32
  %infinity = arith.constant 0x7c00 : i32
  %isSubnormal = arith.cmpi ult, %size, %firstNormal : i32
  %isInfinity = arith.cmpi uge, %size, %infinity : i32
  %r0 = arith.select %isInfinity, %infinityBits, %normalBits : i32
  %r1 = arith.select %isSubnormal, %subnormalBits, %r0 : i32
  %r2 = arith.ori %r1, %sign : i32
  %r = arith.bitcast %r2 : i32 to f32
  return %r : f32
}

func.func @__truncsfhf2(%x: f32) -> f16 {
  %a = arith.extf %x : f32 to f64
  %r = func.call @__truncdfhf2(%a) : (f64) -> f16
  return %r : f16
}

func.func @__truncdfhf2(%x: f64) -> f16 {
  %mantissa = arith.constant 10 : i64
  %bias = arith.constant 15 : i64
  %leastNormal = arith.constant 0x3F10000000000000 : f64 // 2^-14
  %shift = arith.constant 0x41B0000000000000 : f64 // 2^28
  %scale = arith.constant 0x4170000000000000 : f64 // 2^24
  %overflow = arith.constant 65536.0 : f64
  %bits = func.call @vx.narrow(%x, %mantissa, %bias, %leastNormal, %shift, %scale, %overflow) : (f64, i64, i64, f64, f64, f64, f64) -> i16
  %r = arith.bitcast %bits : i16 to f16
  return %r : f16
}

func.func @__truncsfbf2(%x: f32) -> bf16 {
  %a = arith.extf %x : f32 to f64
  %r = func.call @__truncdfbf2(%a) : (f64) -> bf16
  return %r : bf16
}

func.func @__truncdfbf2(%x: f64) -> bf16 {
  %mantissa = arith.constant 7 : i64
  %bias = arith.constant 127 : i64
  %leastNormal = arith.constant 0x3810000000000000 : f64 // 2^-126
  %shift = arith.constant 0x3AE0000000000000 : f64 // 2^-81
  %scale = arith.constant 0x4840000000000000 : f64 // 2^133
  %overflow = arith.constant 0x47F0000000000000 : f64 // 2^128
  %bits = func.call @vx.narrow(%x, %mantissa, %bias, %leastNormal, %shift, %scale, %overflow) : (f64, i64, i64, f64, f64, f64, f64) -> i16
  %r = arith.bitcast %bits : i16 to bf16
  return %r : bf16
}

// The 16 bits of the float with `mantissa` stored bits nearest to `x`. Below `leastNormal`, adding `shift` rounds to a whole
// number of the least subnormal, of which `scale` go into 1. From `overflow` on, infinity.
func.func @vx.narrow(%x: f64, %mantissa: i64, %bias: i64, %leastNormal: f64, %shift: f64, %scale: f64, %overflow: f64) -> i16 {
  %c1 = arith.constant 1 : i64
  %c48 = arith.constant 48 : i64
  %c52 = arith.constant 52 : i64
  %c1023 = arith.constant 1023 : i64
  %c15 = arith.constant 15 : i64
  %xBits = arith.bitcast %x : f64 to i64
  %sign48 = arith.shrui %xBits, %c48 : i64
  %signMask = arith.constant 0x8000 : i64
  %sign = arith.andi %sign48, %signMask : i64
  %size = math.absf %x : f64
  %sizeBits = arith.bitcast %size : f64 to i64
  %drop = arith.subi %c52, %mantissa : i64
  %last0 = arith.shrui %sizeBits, %drop : i64
  %last = arith.andi %last0, %c1 : i64
  %dropLess = arith.subi %drop, %c1 : i64
  %halfBit = arith.shli %c1, %dropLess : i64
  %half = arith.subi %halfBit, %c1 : i64
  %rounded0 = arith.addi %sizeBits, %half : i64
  %rounded1 = arith.addi %rounded0, %last : i64
  %rounded = arith.shrui %rounded1, %drop : i64
  %rebias0 = arith.subi %c1023, %bias : i64
  %rebias = arith.shli %rebias0, %mantissa : i64
  %normal = arith.subi %rounded, %rebias : i64
  %isSubnormal = arith.cmpf olt, %size, %leastNormal : f64
  %zero = arith.constant 0.0 : f64
  %safe = arith.select %isSubnormal, %size, %zero : f64
  %sum = arith.addf %safe, %shift : f64
  %multiple = arith.subf %sum, %shift : f64
  %count = arith.mulf %multiple, %scale : f64
  %subnormal = arith.fptosi %count : f64 to i64
  %exponents0 = arith.subi %c15, %mantissa : i64
  %exponents1 = arith.shli %c1, %exponents0 : i64
  %greatest = arith.subi %exponents1, %c1 : i64
  %infinity = arith.shli %greatest, %mantissa : i64
  %quietShift = arith.subi %mantissa, %c1 : i64
  %quiet = arith.shli %c1, %quietShift : i64
  %nan = arith.ori %infinity, %quiet : i64
  %isLarge = arith.cmpf oge, %size, %overflow : f64
  %isNaN = arith.cmpf uno, %x, %x : f64
  %r0 = arith.select %isSubnormal, %subnormal, %normal : i64
  %r1 = arith.select %isLarge, %infinity, %r0 : i64
  %r2 = arith.select %isNaN, %nan, %r1 : i64
  %r3 = arith.ori %r2, %sign : i64
  %r = arith.trunci %r3 : i64 to i16
  return %r : i16
}
