// What instructions mean, on single wavefronts; whole kernels are the matter of test/e2e.
#include "machine.h"

#include <gtest/gtest.h>

#include <random>

namespace vx::rocm_emulator {

static const char *const chipNames[] = {"gfx1100", "gfx942"};

template <typename F>
static std::string faultOf(F &&function) {
  try {
    function();
  } catch (const Fault &fault) {
    return fault.what();
  }
  return "";
}

//===-- Waits ---------------------------------------------------------------------------------===//

TEST(Waits, registersOfLoadsAreTouchedBehindTheirWait) {
  for (const char *name : chipNames) {
    Machine machine(name);
    std::array<uint32_t, 64> data{};
    machine.memory.add(reinterpret_cast<uint64_t>(data.data()), sizeof data);
    machine.wave.setPair(0, reinterpret_cast<uint64_t>(data.data()));
    machine.fill(0, [](unsigned lane) { return 4 * (lane % 32); });
    auto fault = [&](const std::string &text) { return faultOf([&] { machine.runWaiting(text); }); };
    const std::string early = "is touched before '";
    const std::string two = "global_load_dword v1, v0, s[0:1]\n global_load_dword v2, v0, s[0:1]\n ";
    EXPECT_NE(fault("global_load_dword v1, v0, s[0:1]\n v_mov_b32 v2, v1").find(early), std::string::npos);
    EXPECT_NE(fault("global_load_dword v1, v0, s[0:1]\n v_mov_b32 v1, 0").find(early), std::string::npos);
    EXPECT_EQ(fault("global_load_dword v1, v0, s[0:1]\n s_waitcnt vmcnt(0)\n v_mov_b32 v2, v1"), "");
    // The older one is there when one is left.
    EXPECT_EQ(fault(two + "s_waitcnt vmcnt(1)\n v_mov_b32 v3, v1"), "");
    EXPECT_NE(fault(two + "s_waitcnt vmcnt(1)\n v_mov_b32 v3, v2").find(early), std::string::npos);
    // Another counter is no wait.
    EXPECT_NE(fault("global_load_dword v1, v0, s[0:1]\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v2, v1").find(early),
              std::string::npos);
    EXPECT_NE(fault("ds_read_b32 v1, v0\n s_waitcnt vmcnt(0)\n v_mov_b32 v2, v1").find(early), std::string::npos);
    EXPECT_EQ(fault("ds_read_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v2, v1"), "");
    // Scalar memory answers in any order.
    const std::string scalars = "s_load_dword s4, s[0:1], 0x0\n s_load_dword s5, s[0:1], 0x4\n ";
    EXPECT_NE(fault(scalars + "s_waitcnt lgkmcnt(1)\n s_mov_b32 s6, s4").find(early), std::string::npos);
    EXPECT_EQ(fault(scalars + "s_waitcnt lgkmcnt(0)\n s_add_u32 s6, s4, s5"), "");
    EXPECT_NE(fault("ds_write_b32 v0, v0\n s_barrier").find("the barrier is reached before '"), std::string::npos);
  }
}

TEST(Waits, flatLoadsReadWhatTheirAddressNames) {
  for (const char *name : chipNames) {
    Machine machine(name);
    std::array<uint32_t, 64> data{};
    for (uint32_t i = 0; i < data.size(); ++i)
      data[i] = 1000 + i;
    const auto address = reinterpret_cast<uint64_t>(data.data());
    machine.memory.add(address, sizeof data);
    machine.fill(0, [&](unsigned lane) { return static_cast<uint32_t>(address + 4 * (lane % 32)); });
    machine.fill(1, [&](unsigned) { return static_cast<uint32_t>(address >> 32); });
    machine.runWaiting("flat_load_dword v2, v[0:1]\n flat_load_dword v3, v[0:1] offset:4\n flat_load_dwordx2 v[4:5], "
                       "v[0:1] offset:8\n "
                       "flat_load_ubyte v6, v[0:1]\n s_waitcnt vmcnt(0) lgkmcnt(0)");
    for (unsigned lane : {0u, 7u, 31u}) {
      EXPECT_EQ(machine.wave.v[2][lane], 1000 + lane) << name;
      EXPECT_EQ(machine.wave.v[3][lane], 1001 + lane) << name;
      EXPECT_EQ(machine.wave.v[4][lane], 1002 + lane) << name;
      EXPECT_EQ(machine.wave.v[5][lane], 1003 + lane) << name;
      EXPECT_EQ(machine.wave.v[6][lane], (1000 + lane) & 255) << name;
    }
    EXPECT_NE(
        faultOf([&] { machine.runWaiting("flat_load_dword v2, v[0:1]\n v_mov_b32 v3, v2"); }).find("is touched before"),
        std::string::npos);
    machine.fill(1, [&](unsigned) { return 0u; });
    EXPECT_NE(faultOf([&] { machine.runWaiting("flat_load_dword v2, v[0:1]\n s_waitcnt vmcnt(0)"); }), "");
  }
}

TEST(Waits, storesHaveACounterOfTheirOwnOnGfx11) {
  for (const char *name : chipNames) {
    Machine machine(name);
    std::array<uint32_t, 64> data{};
    machine.memory.add(reinterpret_cast<uint64_t>(data.data()), sizeof data);
    machine.wave.setPair(0, reinterpret_cast<uint64_t>(data.data()));
    machine.fill(0, [](unsigned lane) { return 4 * (lane % 32); });
    const std::string text = faultOf([&] {
      machine.runWaiting("global_load_dword v1, v0, s[0:1]\n global_store_dword v0, v0, s[0:1]\n s_waitcnt vmcnt(1)\n "
                         "v_mov_b32 v2, v1");
    });
    // On gfx9 the store is the one that is left; on gfx11 it is not counted, and the load is.
    EXPECT_EQ(text.empty(), machine.chip.generation == Generation::Gfx9) << text;
  }
}

//===-- Scalars and control flow --------------------------------------------------------------===//

TEST(Scalar, sumsSetSccByCarryOrOverflow) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.run("s_mov_b32 s0, -1\n s_add_u32 s1, s0, 2\n s_cselect_b32 s2, 1, 0\n s_addc_u32 s3, 5, 0");
    EXPECT_EQ(machine.wave.s[1], 1u);
    EXPECT_EQ(machine.wave.s[2], 1u);
    EXPECT_EQ(machine.wave.s[3], 6u);
    machine.run("s_mov_b32 s0, 0x7fffffff\n s_add_i32 s1, s0, 1\n s_cselect_b32 s2, 1, 0\n"
                "s_add_i32 s3, s0, -1\n s_cselect_b32 s4, 1, 0");
    EXPECT_EQ(machine.wave.s[1], 0x80000000u);
    EXPECT_EQ(machine.wave.s[2], 1u);
    EXPECT_EQ(machine.wave.s[4], 0u);
    machine.run("s_mov_b32 s0, 3\n s_sub_u32 s1, s0, 4\n s_cselect_b32 s2, 1, 0\n s_subb_u32 s3, 10, 3");
    EXPECT_EQ(machine.wave.s[1], ~0u);
    EXPECT_EQ(machine.wave.s[2], 1u);
    EXPECT_EQ(machine.wave.s[3], 6u);
  }
}

TEST(Scalar, bitsSetSccWhenTheyAreNotZero) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.run("s_mov_b32 s0, 0xf0\n s_and_b32 s1, s0, 15\n s_cselect_b32 s2, 1, 0\n s_lshr_b32 s3, s0, 4\n"
                "s_cselect_b32 s4, 1, 0\n s_bfe_u32 s5, s0, 0x30005\n s_bfe_i32 s6, s0, 0x40004\n"
                "s_mov_b32 s7, 0xff000000\n s_ashr_i32 s7, s7, 24");
    EXPECT_EQ(machine.wave.s[2], 0u);
    EXPECT_EQ(machine.wave.s[3], 15u);
    EXPECT_EQ(machine.wave.s[4], 1u);
    EXPECT_EQ(machine.wave.s[5], 7u);
    EXPECT_EQ(machine.wave.s[6], ~0u);
    EXPECT_EQ(machine.wave.s[7], ~0u);
  }
}

TEST(Scalar, loop) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.run("s_mov_b32 s0, 0\n s_mov_b32 s1, 0\n again:\n s_add_u32 s1, s1, s0\n s_add_u32 s0, s0, 1\n"
                "s_cmp_lt_u32 s0, 10\n s_cbranch_scc1 again\n s_branch done\n s_mov_b32 s1, 0\n done:");
    EXPECT_EQ(machine.wave.s[1], 45u);
  }
}

TEST(Scalar, constantsOf64Bits) {
  Machine machine("gfx942");
  machine.run("s_mov_b64 s[0:1], -1\n s_mov_b64 s[2:3], 0x80000000\n s_mov_b64 s[4:5], 1.0");
  EXPECT_EQ(machine.wave.pair(0), ~uint64_t(0));
  EXPECT_EQ(machine.wave.pair(2), 0x80000000u);
  EXPECT_EQ(machine.wave.pair(4), std::bit_cast<uint64_t>(1.0));
}

TEST(Scalar, floatsOfGfx1151) {
  Machine machine("gfx1151");
  machine.run("s_mov_b32 s0, 1.0\n s_fmac_f32 s0, 2.0, 4.0\n s_fmamk_f32 s1, s0, 0x40400000, s0\n"
              "s_mov_b32 s2, 0x7fc00000\n s_cmp_nlt_f32 s2, s0\n s_cselect_b32 s3, 1, 0\n s_cmp_lt_f32 s2, s0\n"
              "s_cselect_b32 s4, 1, 0\n s_mov_b32 s5, 0xc0200000\n s_cvt_i32_f32 s5, s5");
  EXPECT_EQ(machine.wave.s[0], std::bit_cast<uint32_t>(9.0F));
  EXPECT_EQ(machine.wave.s[1], std::bit_cast<uint32_t>(36.0F));
  EXPECT_EQ(machine.wave.s[3], 1u);
  EXPECT_EQ(machine.wave.s[4], 0u);
  EXPECT_EQ(machine.wave.s[5], static_cast<uint32_t>(-2));
}

//===-- Lanes that take part ------------------------------------------------------------------===//

TEST(Exec, lanesThatAreOffKeepTheirRegisters) {
  Machine machine("gfx1100");
  machine.fill(0, [](unsigned lane) { return lane; });
  machine.run("v_mov_b32 v1, 7\n v_cmp_gt_u32 vcc_lo, 10, v0\n s_and_saveexec_b32 s0, vcc_lo\n"
              "s_cselect_b32 s1, 1, 0\n v_mov_b32 v1, 9\n s_xor_b32 exec_lo, exec_lo, s0\n v_add_nc_u32 v1, v1, 1\n"
              "s_mov_b32 exec_lo, s0");
  EXPECT_EQ(machine.wave.s[0], ~0u);
  EXPECT_EQ(machine.wave.s[1], 1u);
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(machine.word(1, lane), lane < 10 ? 9u : 8u);
}

TEST(Exec, comparisonsGiveNothingForLanesThatAreOff) {
  Machine machine("gfx942");
  machine.fill(0, [](unsigned lane) { return lane; });
  machine.run("s_mov_b64 exec, 0xff\n v_cmp_le_u32 vcc, 4, v0\n s_mov_b64 s[0:1], vcc\n v_cmpx_le_u32 s[2:3], 6, v0");
  EXPECT_EQ(machine.wave.pair(0), 0xf0u);
  EXPECT_EQ(machine.wave.pair(2), 0xc0u);
  EXPECT_EQ(machine.wave.exec(), 0xc0u);
  Machine other("gfx1100");
  other.fill(0, [](unsigned lane) { return lane; });
  other.run("s_mov_b32 vcc_lo, 5\n v_cmpx_gt_u32 3, v0");
  EXPECT_EQ(other.wave.exec(), 7u);
  EXPECT_EQ(other.wave.s[vccRegister], 5u);
}

TEST(Exec, branchWhenNoLaneIsLeft) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.run("s_mov_b64 exec, 0\n v_mov_b32 v0, 1\n s_cbranch_execz none\n s_mov_b32 s0, 1\n none:\n"
                "v_readfirstlane_b32 s1, v0");
    EXPECT_NE(machine.wave.s[0], 1u);
    EXPECT_EQ(machine.wave.s[1], 0u); // the first lane of all, as it was
  }
}

TEST(Exec, chosenByMask) {
  Machine machine("gfx1100");
  machine.run("s_mov_b32 s0, 0xff00ff00\n s_mov_b32 vcc_lo, 1\n v_mov_b32 v1, 1\n v_mov_b32 v2, 2\n"
              "v_cndmask_b32 v0, v1, v2, s0\n v_dual_cndmask_b32 v4, v1, v2 :: v_dual_mov_b32 v3, v2");
  EXPECT_EQ(machine.word(0, 7), 1u);
  EXPECT_EQ(machine.word(0, 8), 2u);
  EXPECT_EQ(machine.word(4, 0), 2u);
  EXPECT_EQ(machine.word(4, 1), 1u);
}

TEST(Exec, carriesOfLanes) {
  Machine machine("gfx1100");
  machine.fill(0, [](unsigned lane) { return lane % 2 ? ~0u : 5u; });
  machine.run("v_add_co_u32 v1, s0, v0, 1\n v_add_co_ci_u32 v2, s1, v0, 0, s0\n v_sub_co_u32 v3, vcc_lo, v0, 6\n"
              "v_mad_u64_u32 v[4:5], null, v0, v0, 7");
  EXPECT_EQ(machine.wave.s[0], 0xaaaaaaaau);
  EXPECT_EQ(machine.word(2, 0), 5u);
  EXPECT_EQ(machine.word(2, 1), 0u);
  EXPECT_EQ(machine.wave.s[1], 0xaaaaaaaau);
  EXPECT_EQ(machine.wave.s[vccRegister], 0x55555555u);
  EXPECT_EQ(machine.quad(4, 0), 32u);
  EXPECT_EQ(machine.quad(4, 1), uint64_t(0xffffffff) * 0xffffffff + 7);
}

//===-- Two in one ----------------------------------------------------------------------------===//

TEST(Dual, bothReadBeforeEitherWrites) {
  Machine machine("gfx1100");
  machine.fill(0, [](unsigned) { return 3.0F; });
  machine.fill(1, [](unsigned) { return 5.0F; });
  machine.run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0");
  EXPECT_EQ(machine.number(0), 5);
  EXPECT_EQ(machine.number(1), 3);
  machine.run("v_dual_fmac_f32 v0, v1, v0 :: v_dual_add_f32 v3, v0, v3");
  EXPECT_EQ(machine.number(0), 20);
  EXPECT_EQ(machine.number(3), 5);
}

//===-- Between lanes -------------------------------------------------------------------------===//

TEST(Lanes, permutationsOfSources) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fill(0, [](unsigned lane) { return lane + 100; });
    machine.run("v_mov_b32 v1, 7\n v_mov_b32 v2, 7\n v_mov_b32 v3, 7\n"
                "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf\n"
                "v_mov_b32_dpp v2, v0 row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:1\n"
                "v_mov_b32_dpp v3, v0 row_shl:2 row_mask:0x2 bank_mask:0xf\n"
                "v_mov_b32_dpp v4, v0 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf\n"
                "v_mov_b32_dpp v5, v0 row_mirror row_mask:0xf bank_mask:0xf\n"
                "v_mov_b32_dpp v6, v0 row_ror:4 row_mask:0xf bank_mask:0x3\n"
                "v_add_u32_dpp v7, v0, v0 row_half_mirror row_mask:0xf bank_mask:0xf\n");
    for (unsigned lane = 0; lane < machine.wave.lanes; ++lane) {
      const unsigned row = lane / 16 * 16, place = lane % 16;
      EXPECT_EQ(machine.word(1, lane), place < 1 ? 7u : lane + 99);
      EXPECT_EQ(machine.word(2, lane), place < 3 ? 0u : lane + 97);
      EXPECT_EQ(machine.word(3, lane), row == 16 && place < 14 ? lane + 102 : 7u);
      EXPECT_EQ(machine.word(4, lane), (lane ^ 3) + 100);
      EXPECT_EQ(machine.word(5, lane), row + 15 - place + 100);
      EXPECT_EQ(machine.word(6, lane), place < 8 ? row + (place + 12) % 16 + 100 : 0u);
      EXPECT_EQ(machine.word(7, lane), (lane ^ 7) + lane + 200);
    }
  }
}

TEST(Lanes, rowsAreBroadcast) {
  Machine machine("gfx942");
  machine.fill(0, [](unsigned lane) { return lane; });
  machine.run("v_mov_b32 v1, -1\n v_mov_b32 v2, -1\n v_mov_b32_dpp v1, v0 row_bcast:15 row_mask:0xa bank_mask:0xf\n"
              "v_mov_b32_dpp v2, v0 row_bcast:31 row_mask:0xc bank_mask:0xf");
  EXPECT_EQ(machine.word(1, 0), ~0u);
  EXPECT_EQ(machine.word(1, 20), 15u);
  EXPECT_EQ(machine.word(1, 40), ~0u);
  EXPECT_EQ(machine.word(1, 50), 47u);
  EXPECT_EQ(machine.word(2, 31), ~0u);
  EXPECT_EQ(machine.word(2, 32), 31u);
  EXPECT_EQ(machine.word(2, 63), 31u);
}

TEST(Lanes, lanesThatAreOffGiveNothing) {
  Machine machine("gfx1100");
  machine.fill(0, [](unsigned lane) { return lane + 1; });
  machine.fill(3, [](unsigned lane) { return 4 * (lane ^ 1); });
  machine.run("s_mov_b32 exec_lo, 0x55555555\n v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n"
              "ds_bpermute_b32 v2, v3, v0\n s_mov_b32 exec_lo, -1\n ds_bpermute_b32 v4, v3, v0\n"
              "v_mov_b32_dpp v5, v0 dpp8:[7,6,5,4,3,2,1,0]");
  EXPECT_EQ(machine.word(1, 0), 0u);
  EXPECT_EQ(machine.word(2, 0), 0u);
  EXPECT_EQ(machine.word(4, 0), 2u);
  EXPECT_EQ(machine.word(4, 1), 1u);
  EXPECT_EQ(machine.word(5, 1), 7u);
}

TEST(Lanes, scalarsOfLanes) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fill(0, [](unsigned lane) { return lane * 3; });
    machine.run("s_mov_b64 exec, 0xf0\n v_readfirstlane_b32 s0, v0\n v_readlane_b32 s1, v0, 9\n"
                "v_writelane_b32 v0, 1, 2\n s_mov_b32 s2, -1\n v_mbcnt_lo_u32_b32 v1, s2, 0\n"
                "v_mbcnt_hi_u32_b32 v1, s2, v1");
    EXPECT_EQ(machine.wave.s[0], 12u);
    EXPECT_EQ(machine.wave.s[1], 27u);
    EXPECT_EQ(machine.word(0, 2), 1u);
    EXPECT_EQ(machine.word(1, 6), 6u);
  }
}

TEST(Lanes, rowsExchangeLanes) {
  Machine machine("gfx1100");
  machine.fill(0, [](unsigned lane) { return lane; });
  machine.run("s_mov_b32 s0, 0x76543210\n s_mov_b32 s1, 0xfedcba98\n v_permlanex16_b32 v1, v0, s0, s1\n"
              "v_permlane16_b32 v2, v0, s1, s0");
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(machine.word(1, lane), lane ^ 16);
    EXPECT_EQ(machine.word(2, lane), lane ^ 8);
  }
}

//===-- Parts of registers --------------------------------------------------------------------===//

TEST(Halves, theOtherHalfStaysOrBecomesZero) {
  Machine newer("gfx1100");
  newer.fill(0, [](unsigned) { return 0x40003c00u; }); // 2 and 1
  newer.fill(1, [](unsigned) { return 0x12345678u; });
  newer.fill(2, [](unsigned) { return 0x12345678u; });
  newer.run("v_add_f16 v1.l, v0.l, v0.h\n v_mul_f16 v2.h, v0.h, -v0.h\n v_add_nc_u16 v3.l, v0.l, 1\n"
            "v_cvt_f32_f16 v4, v0.h\n v_mov_b16 v5.h, v0.l");
  EXPECT_EQ(newer.word(1), 0x12344200u);
  EXPECT_EQ(newer.word(2), 0xc4005678u);
  EXPECT_EQ(newer.word(3), 0x3c01u);
  EXPECT_EQ(newer.number(4), 2);
  EXPECT_EQ(newer.word(5), 0x3c000000u);
  Machine older("gfx942");
  older.fill(0, [](unsigned) { return 0x40003c00u; });
  older.fill(1, [](unsigned) { return 0x12345678u; });
  older.fill(2, [](unsigned) { return 0x12345678u; });
  older.run("v_add_f16 v1, v0, v0\n v_fma_f16 v2, v0, v0, v0\n"
            "v_fma_f16 v3, v0, v0, v0 op_sel:[1,0,0,1]\n"
            "v_add_f16_sdwa v4, v0, v0 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0");
  EXPECT_EQ(older.word(1), 0x4000u);
  EXPECT_EQ(older.word(2), 0x12344000u);
  EXPECT_EQ(older.word(3), 0x42000000u);
  EXPECT_EQ(older.word(4), 0x42000000u);
}

TEST(Halves, partsOfSdwa) {
  Machine machine("gfx942");
  machine.fill(0, [](unsigned) { return 0x8070f0e0u; });
  machine.run("v_cvt_f32_i32_sdwa v1, sext(v0) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1\n"
              "v_add_u32_sdwa v2, v0, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_0\n"
              "v_mov_b32 v3, -1\n"
              "v_mov_b32_sdwa v3, v0 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3\n"
              "v_mov_b32_sdwa v4, v0 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3");
  EXPECT_EQ(machine.number(1), -16);
  EXPECT_EQ(machine.word(2), 0x8070u + 0xe0u);
  EXPECT_EQ(machine.word(3), 0xff80ffffu);
  EXPECT_EQ(machine.word(4), 0xffff8000u);
}

TEST(Halves, packed) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fill(0, [](unsigned) { return 0x40003c00u; });
    machine.fill(1, [](unsigned) { return 0x44004200u; }); // 4 and 3
    machine.run("v_pk_add_f16 v2, v0, v1\n v_pk_mul_f16 v3, v0, v1 op_sel:[0,1] op_sel_hi:[1,0] neg_hi:[1,0]\n"
                "v_pk_fma_f16 v4, v0, 2.0, v1 op_sel_hi:[1,0,1]\n v_pk_add_u16 v5, v0, -1 op_sel_hi:[1,0]");
    EXPECT_EQ(machine.word(2), 0x46004400u);
    EXPECT_EQ(machine.word(3), 0xc6004400u);
    EXPECT_EQ(machine.word(4), 0x48004500u);
    EXPECT_EQ(machine.word(5), 0x3fff3bffu);
  }
}

// Of gfx942 alone.
TEST(Floats, packed) {
  Machine machine("gfx942");
  for (unsigned k = 0; k < 4; ++k)
    machine.fill(k, [&](unsigned lane) { return float(k + 1) + float(lane); }); // v0 to v3: 1, 2, 3, 4
  machine.run("v_pk_add_f32 v[4:5], v[0:1], v[2:3]\n"
              "v_pk_mul_f32 v[6:7], v[0:1], v[2:3] op_sel:[0,1] op_sel_hi:[1,0] neg_hi:[1,0]\n"
              "v_pk_fma_f32 v[8:9], v[0:1], v[2:3], 2.0 op_sel_hi:[1,1,0] neg_lo:[0,0,1]\n"
              "v_pk_add_f32 v[2:3], v[2:3], v[2:3]");
  EXPECT_EQ(machine.number(4), 4);
  EXPECT_EQ(machine.number(5), 6);
  EXPECT_EQ(machine.number(6), 4);
  EXPECT_EQ(machine.number(7), -6);
  EXPECT_EQ(machine.number(8), 1);
  EXPECT_EQ(machine.number(9), 10);
  EXPECT_EQ(machine.number(2), 6);
  EXPECT_EQ(machine.number(3), 8);
  EXPECT_THROW(machine.run("v_pk_add_f32 v[4:5], v[0:1], 1.0"), Fault);
}

TEST(Halves, mixedWithFloats) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fill(0, [](unsigned) { return 0x40003c00u; });
    machine.fill(1, [](unsigned) { return 10.0F; });
    machine.fill(3, [](unsigned) { return 0x12345678u; });
    machine.run("v_fma_mix_f32 v2, v0, v1, -v0 op_sel:[1,0,0] op_sel_hi:[1,0,1]\n v_fma_mixlo_f16 v3, v1, v1, 0");
    EXPECT_EQ(machine.number(2), 19);
    EXPECT_EQ(machine.word(3), 0x12340000u | floatToHalf(100));
  }
}

//===-- Floats --------------------------------------------------------------------------------===//

TEST(Floats, modifiers) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fill(0, [](unsigned) { return -3.0F; });
    machine.run("v_add_f32 v1, |v0|, 1.0 mul:2\n v_mul_f32 v2, -v0, 2.0 clamp\n v_fma_f32 v3, v0, -|v0|, 0.5\n"
                "v_add_f32 v4, v0, 0 clamp\n v_add_f32 v5, |v0|, 1.0 div:2\n v_mul_f32 v6, 0.15915494, v0");
    EXPECT_EQ(machine.number(1), 8);
    EXPECT_EQ(machine.number(2), 1);
    EXPECT_EQ(machine.number(3), 9.5F);
    EXPECT_EQ(machine.number(4), 0);
    EXPECT_EQ(machine.number(5), 2);
    EXPECT_EQ(machine.word(6), std::bit_cast<uint32_t>(-3.0F * std::bit_cast<float>(0x3e22f983)));
  }
}

TEST(Floats, comparisonsOfNan) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fill(0, [](unsigned lane) { return lane == 0 ? std::nanf("") : float(lane); });
    const std::string vcc = machine.wave.lanes == 32 ? "vcc_lo" : "vcc";
    auto bit = [&](const std::string &comparison) {
      machine.run("v_cmp_" + comparison + "_f32 " + vcc + ", 2.0, v0");
      return machine.wave.laneMask(vccRegister) & 15; // 2 and NaN, 1, 2, 3
    };
    EXPECT_EQ(bit("lt"), 8u);
    EXPECT_EQ(bit("nlt"), 7u);
    EXPECT_EQ(bit("eq"), 4u);
    EXPECT_EQ(bit("neq"), 11u);
    EXPECT_EQ(bit("lg"), 10u);
    EXPECT_EQ(bit("nlg"), 5u);
    EXPECT_EQ(bit("ge"), 6u);
    EXPECT_EQ(bit("nge"), 9u);
    EXPECT_EQ(bit("o"), 14u);
    EXPECT_EQ(bit("u"), 1u);
    machine.run("v_min_f32 v1, 1.0, v0\n v_max_f32 v2, v0, 1.0");
    EXPECT_EQ(machine.number(1), 1);
    EXPECT_EQ(machine.number(2), 1);
  }
}

TEST(Floats, classes) {
  Machine machine("gfx1100");
  const float infinity = std::numeric_limits<float>::infinity();
  const float values[] = {
      std::bit_cast<float>(0x7f800001), std::nanf(""), -infinity, -1, -1e-40F, -0.0F, 0, 1e-40F, 1, infinity};
  for (unsigned k = 0; k < 10; ++k) {
    machine.fill(0, [&](unsigned) { return std::bit_cast<uint32_t>(values[k]); });
    machine.run("s_mov_b32 s0, " + std::to_string(1 << k) +
                "\n v_cmp_class_f32 vcc_lo, v0, s0\n s_not_b32 s0, s0\n"
                "v_cmp_class_f32 s1, v0, s0");
    EXPECT_EQ(machine.wave.s[vccRegister], ~0u) << k;
    EXPECT_EQ(machine.wave.s[1], 0u) << k;
  }
}

TEST(Floats, conversionsSaturate) {
  for (const char *name : chipNames) {
    Machine machine(name);
    const float values[] = {-1e10F, 1e10F, std::nanf(""), -2.75F, 2.75F};
    machine.fill(0, [&](unsigned lane) { return values[lane % 5]; });
    machine.run("v_cvt_i32_f32 v1, v0\n v_cvt_u32_f32 v2, v0\n v_cvt_f64_f32 v[4:5], v0\n v_cvt_i32_f64 v3, v[4:5]\n"
                "v_rndne_f32 v6, v0\n v_floor_f32 v7, v0");
    const uint32_t wanted[] = {0x80000000, 0x7fffffff, 0, uint32_t(-2), 2}, positive[] = {0, ~0u, 0, 0, 2};
    for (unsigned lane = 0; lane < 5; ++lane) {
      EXPECT_EQ(machine.word(1, lane), wanted[lane]);
      EXPECT_EQ(machine.word(2, lane), positive[lane]);
      EXPECT_EQ(machine.word(3, lane), wanted[lane]);
    }
    EXPECT_EQ(machine.number(6, 3), -3);
    EXPECT_EQ(machine.number(7, 3), -3);
    EXPECT_EQ(machine.number(7, 4), 2);
  }
}

TEST(Floats, denormalNumbersByTheMode) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fill(0, [](unsigned) { return 1e-40F; });
    machine.run("v_add_f32 v1, v0, v0");
    EXPECT_EQ(machine.number(1), 2 * 1e-40F);
    machine.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n v_add_f32 v1, v0, v0\n"
                "s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\n"
                "v_add_f32 v2, v0, v0");
    EXPECT_EQ(machine.number(1), 0);
    EXPECT_EQ(machine.number(2), 2 * 1e-40F);
    EXPECT_EQ(machine.wave.s[0], 12u);
  }
}

TEST(Floats, doubles) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fillPair(0, [](unsigned lane) { return 1.5 + lane; });
    if (machine.wave.lanes == 32)
      machine.run("v_mul_f64 v[2:3], v[0:1], 0x40080000"); // the upper half
    else
      machine.run("v_mul_f64 v[2:3], v[0:1], 4.0\n v_add_f64 v[2:3], v[2:3], -v[0:1]");
    machine.run("v_fma_f64 v[4:5], -v[0:1], |v[0:1]|, 0.5\n"
                "v_ldexp_f64 v[6:7], v[0:1], -3\n v_cmp_gt_f64 vcc" +
                std::string(machine.wave.lanes == 32 ? "_lo" : "") + ", v[0:1], 4.0");
    EXPECT_EQ(machine.wide(2, 1), 7.5);
    EXPECT_EQ(machine.wide(4, 1), -5.75);
    EXPECT_EQ(machine.wide(6, 1), 0.3125);
    EXPECT_EQ(machine.wave.laneMask(vccRegister) & 15, 8u);
  }
}

// The whole division of LLVM, whose result is that of the host: scaled factors, a refined reciprocal, a fixed result;
// also of a number whose sign is turned.
TEST(Floats, division) {
  const std::string sequence = R"(
    v_div_scale_f32 v2, {vcc}, v1, v1, {sign}v0
    v_div_scale_f32 v3, {vcc}, {sign}v0, v1, {sign}v0
    v_rcp_f32 v4, v2
    v_fma_f32 v5, -v2, v4, 1.0
    v_fma_f32 v4, v5, v4, v4
    v_mul_f32 v5, v3, v4
    v_fma_f32 v6, -v2, v5, v3
    v_fma_f32 v5, v6, v4, v5
    v_fma_f32 v6, -v2, v5, v3
    v_div_fmas_f32 v6, v6, v4, v5
    v_div_fixup_f32 v7, v6, v1, {sign}v0)";
  const float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {0,      -0.0F,  1,     -1,    3,       infinity, -infinity, std::nanf(""),
                           1e-45F, 1e-40F, 1e38F, 3e38F, 1.2e-38F};
  std::mt19937 random(1);
  for (const char *name : chipNames) {
    Machine machine(name);
    auto make = [&](const std::string &sign) {
      std::string text = sequence;
      for (const auto &[key, value] :
           {std::pair<std::string, std::string>("{vcc}", machine.wave.lanes == 32 ? "vcc_lo" : "vcc"),
            {"{sign}", sign}})
        for (size_t at = 0; (at = text.find(key)) != text.npos;)
          text.replace(at, key.size(), value);
      return text;
    };
    const std::string texts[] = {make(""), make("-")};
    for (unsigned round = 0; round < 40; ++round) {
      auto value = [&](unsigned lane) {
        const auto bits = static_cast<uint32_t>(random());
        return (lane + round) % 3 ? std::bit_cast<float>(bits) : special[bits % std::size(special)];
      };
      machine.fill(0, value);
      machine.fill(1, value);
      machine.run(texts[round % 2]);
      for (unsigned lane = 0; lane < machine.wave.lanes; ++lane) {
        const float n = round % 2 ? -machine.number(0, lane) : machine.number(0, lane), d = machine.number(1, lane),
                    want = n / d;
        if (std::isnan(want))
          EXPECT_TRUE(std::isnan(machine.number(7, lane))) << n << " / " << d;
        else
          EXPECT_EQ(machine.number(7, lane), want) << n << " / " << d;
      }
    }
  }
}

TEST(Floats, roundedOnceToHalves) {
  Machine machine("gfx942");
  // The product lies between two f16 numbers, and the addend decides to which it goes: 1 + 2^-11 is the middle.
  machine.fill(0, [](unsigned lane) { return uint32_t(floatToHalf(lane % 2 ? 0x1p-12F : -0x1p-12F)); });
  machine.fill(1, [](unsigned) { return 0x3c00u | uint32_t(floatToHalf(0x1p-11F)) << 16; });
  machine.run(
      "v_mov_b32 v2, 0x1000\n v_mad_legacy_u16 v2, v2, 0, 0\n v_cvt_f32_f16 v3, v0\n v_mul_f32 v3, 0x2f800000, v3\n"
      "v_mov_b32 v4, 0x3f801000\n v_fma_mixlo_f16 v5, v3, 1.0, v4 op_sel_hi:[0,0,0]");
  EXPECT_EQ(machine.word(5, 0), 0x3c00u);
  EXPECT_EQ(machine.word(5, 1), 0x3c01u);
}

//===-- Integers ------------------------------------------------------------------------------===//

TEST(Integers, bits) {
  for (const char *name : chipNames) {
    Machine machine(name);
    machine.fill(0, [](unsigned) { return 0x80f01234u; });
    machine.run("v_bfe_u32 v1, v0, 4, 8\n v_bfe_i32 v2, v0, 20, 4\n v_alignbit_b32 v3, v0, v0, 8\n"
                "s_mov_b32 s0, 0x0c0d0007\n v_perm_b32 v4, v0, v0, s0\n v_bfi_b32 v5, 15, v0, -1\n"
                "v_ashrrev_i32 v6, 28, v0\n v_lshl_add_u32 v7, v0, 4, 1\n v_mul_hi_u32 v8, v0, v0\n"
                "v_mul_i32_i24 v9, v0, 2\n v_bcnt_u32_b32 v10, v0, 1\n v_bfrev_b32 v11, v0");
    EXPECT_EQ(machine.word(1), 0x23u);
    EXPECT_EQ(machine.word(2), ~0u);
    EXPECT_EQ(machine.word(3), 0x3480f012u);
    EXPECT_EQ(machine.word(4), 0x00ff3480u);
    EXPECT_EQ(machine.word(5), 0xfffffff4u);
    EXPECT_EQ(machine.word(6), 0xfffffff8u);
    EXPECT_EQ(machine.word(7), 0x0f012341u);
    EXPECT_EQ(machine.word(8), uint32_t(uint64_t(0x80f01234) * 0x80f01234 >> 32));
    EXPECT_EQ(machine.word(9), uint32_t((int32_t(0xf0123400) >> 8) * 2));
    EXPECT_EQ(machine.word(10), 11u);
    EXPECT_EQ(machine.word(11), 0x2c480f01u);
  }
}

TEST(Integers, dotsOfBytes) {
  // (-1 or 255) * 2 + 2 * (-3 or 253) + 127 * 1 + (-128 or 128) * (-2 or 254)
  auto fill = [](Machine &machine) {
    machine.fill(0, [](unsigned) { return 0x807f02ffu; });
    machine.fill(1, [](unsigned) { return 0xfe01fd02u; });
    machine.fill(2, [](unsigned lane) { return 0x7fffff00u + lane; });
  };
  for (const char *name : chipNames) {
    Machine machine(name);
    fill(machine);
    const bool hasNegation = std::string_view(name) != "gfx942";
    machine.run(hasNegation
                    ? "v_dot4_i32_iu8 v3, v0, v1, v2 neg_lo:[1,1,0]\n v_dot4_u32_u8 v4, v0, v1, 5\n"
                      "v_dot4_i32_iu8 v5, v0, v1, 0 neg_lo:[1,0,0]\n v_dot4_i32_iu8 v6, v0, v1, 0 neg_lo:[0,1,0]"
                    : "v_dot4_i32_i8 v3, v0, v1, v2\n v_dot4_u32_u8 v4, v0, v1, 5");
    EXPECT_EQ(machine.word(3), 0x7fffff00u + uint32_t(-2 - 6 + 127 + 256));
    EXPECT_EQ(machine.word(4), uint32_t(510 + 506 + 127 + 128 * 254 + 5));
    if (!hasNegation)
      continue;
    EXPECT_EQ(machine.word(5), uint32_t(-2 + 506 + 127 - 128 * 254));
    EXPECT_EQ(machine.word(6), uint32_t(510 - 6 + 127 - 256));
  }
}

TEST(Integers, leadingBits) {
  Machine machine("gfx942");
  const uint32_t values[] = {0, ~0u, 1, 0x80000000, 0xff000000};
  machine.fill(0, [&](unsigned lane) { return values[lane % 5]; });
  machine.run("v_ffbh_u32 v1, v0\n v_ffbh_i32 v2, v0\n v_ffbl_b32 v3, v0");
  const uint32_t none = ~0u, unsignedBits[] = {none, 0, 31, 0, 0}, signedBits[] = {none, none, 31, 1, 8},
                 trailing[] = {none, 0, 0, 31, 24};
  for (unsigned lane = 0; lane < 5; ++lane) {
    EXPECT_EQ(machine.word(1, lane), unsignedBits[lane]);
    EXPECT_EQ(machine.word(2, lane), signedBits[lane]);
    EXPECT_EQ(machine.word(3, lane), trailing[lane]);
  }
}

TEST(Integers, clampedDifferences) {
  Machine machine("gfx1100");
  machine.fill(0, [](unsigned) { return 5u; });
  machine.run("v_sub_nc_u32 v1, v0, 7 clamp\n v_sub_nc_u32 v2, v0, 7\n v_subrev_nc_u32 v3, 7, v0");
  EXPECT_EQ(machine.word(1), 0u);
  EXPECT_EQ(machine.word(2), uint32_t(-2));
  EXPECT_EQ(machine.word(3), uint32_t(-2));
}

//===-- Matrices ------------------------------------------------------------------------------===//

// Small whole numbers: every sum is exact.
struct Matrices {
  float a[16][16], b[16][16], c[16][16];

  Matrices() {
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        a[i][j] = float((i * 7 + j * 3) % 11 - 5);
        b[i][j] = float((i * 5 + j * 2) % 13 - 6);
        c[i][j] = float(i * 16 + j);
      }
  }
  float want(unsigned i, unsigned j) const {
    float sum = c[i][j];
    for (unsigned k = 0; k < 16; ++k)
      sum += a[i][k] * b[k][j];
    return sum;
  }
};

TEST(Matrix, wmma) {
  const Matrices of;
  for (const bool isHalf : {true, false}) {
    auto element = [&](float value) { return uint32_t(isHalf ? floatToHalf(value) : floatToBfloat(value)); };
    Machine machine("gfx1100");
    for (unsigned r = 0; r < 8; ++r) {
      machine.fill(8 + r, [&](unsigned lane) {
        return element(of.a[lane % 16][2 * r]) | element(of.a[lane % 16][2 * r + 1]) << 16;
      });
      machine.fill(16 + r, [&](unsigned lane) {
        return element(of.b[2 * r][lane % 16]) | element(of.b[2 * r + 1][lane % 16]) << 16;
      });
      machine.fill(r, [&](unsigned lane) { return of.c[2 * r + lane / 16][lane % 16]; });
    }
    machine.run(std::string("v_wmma_f32_16x16x16_") + (isHalf ? "f16" : "bf16") + " v[0:7], v[8:15], v[16:23], v[0:7]");
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned lane = 0; lane < 32; ++lane)
        EXPECT_EQ(machine.number(r, lane), of.want(2 * r + lane / 16, lane % 16));
  }
}

TEST(Matrix, wmmaWantsBothHalvesAlike) {
  Machine machine("gfx1100");
  machine.wave.v[9][17] = 1;
  EXPECT_EQ(faultOf([&] { machine.run("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"); }),
            "lanes 1 and 17 differ in a factor");
  EXPECT_EQ(
      faultOf([&] { machine.run("s_mov_b32 exec_lo, 1\n v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"); }),
      "some lanes are switched off");
}

TEST(Matrix, mfma) {
  const Matrices of;
  for (const bool isHalf : {true, false})
    for (const std::string to : {"v[0:3]", "a[0:3]"}) {
      auto element = [&](float value) { return uint32_t(isHalf ? floatToHalf(value) : floatToBfloat(value)); };
      Machine machine("gfx942");
      const unsigned base = to[0] == 'a' ? machine.registers.accumulatorBase : 0;
      for (unsigned r = 0; r < 2; ++r) {
        machine.fill(4 + r, [&](unsigned lane) {
          const unsigned k = lane / 16 * 4 + 2 * r;
          return element(of.a[lane % 16][k]) | element(of.a[lane % 16][k + 1]) << 16;
        });
        machine.fill(6 + r, [&](unsigned lane) {
          const unsigned k = lane / 16 * 4 + 2 * r;
          return element(of.b[k][lane % 16]) | element(of.b[k + 1][lane % 16]) << 16;
        });
      }
      for (unsigned r = 0; r < 4; ++r)
        machine.fill(base + r, [&](unsigned lane) { return of.c[lane / 16 * 4 + r][lane % 16]; });
      machine.run(std::string("v_mfma_f32_16x16x16_") + (isHalf ? "f16 " : "bf16 ") + to + ", v[4:5], v[6:7], " + to);
      for (unsigned r = 0; r < 4; ++r)
        for (unsigned lane = 0; lane < 64; ++lane)
          EXPECT_EQ(machine.number(base + r, lane), of.want(lane / 16 * 4 + r, lane % 16));
      machine.run("v_mfma_f32_16x16x16_f16 v[8:11], v[20:21], v[20:21], 2.0");
      EXPECT_EQ(machine.number(8, 5), 2);
    }
}

//===-- Memory --------------------------------------------------------------------------------===//

TEST(MemoryOperations, workgroupMemory) {
  for (const char *name : chipNames) {
    Machine machine(name);
    const bool isNew = machine.wave.lanes == 32;
    machine.group.shared.resize(1024);
    machine.fill(0, [](unsigned lane) { return lane * 8; });
    machine.fill(2, [](unsigned lane) { return lane; });
    machine.fill(3, [](unsigned lane) { return lane + 1000; });
    machine.run(isNew ? "ds_store_b64 v0, v[2:3]\n ds_load_2addr_b32 v[4:5], v0 offset0:1 offset1:0\n"
                        "ds_load_u8 v6, v0 offset:5"
                      : "ds_write_b64 v0, v[2:3]\n ds_read2_b32 v[4:5], v0 offset0:1 offset1:0\n"
                        "ds_read_u8 v6, v0 offset:5");
    EXPECT_EQ(machine.word(4, 9), 1009u);
    EXPECT_EQ(machine.word(5, 9), 9u);
    EXPECT_EQ(machine.word(6, 9), 1009u >> 8);
    machine.fill(0, [](unsigned lane) { return lane == 3 ? 1022 : 0; });
    EXPECT_EQ(faultOf([&] { machine.run(isNew ? "ds_load_b32 v1, v0" : "ds_read_b32 v1, v0"); }),
              "4 bytes at 0x3fe are outside of the workgroup's 1024 bytes");
  }
}

TEST(MemoryOperations, globalMemory) {
  for (const char *name : chipNames) {
    Machine machine(name);
    const bool isNew = machine.wave.lanes == 32;
    auto *data = static_cast<uint32_t *>(machine.memory.allocate(512));
    for (uint32_t k = 0; k < 128; ++k)
      data[k] = k * 0x01010101;
    const auto address = reinterpret_cast<uint64_t>(data);
    machine.wave.setPair(0, address);
    machine.fill(0, [](unsigned lane) { return lane * 4; });
    machine.fillPair(2, [&](unsigned lane) { return address + lane * 4; });
    machine.fill(8, [](unsigned) { return 0xaaaaaaaau; });
    machine.run(
        isNew ? "global_load_b64 v[4:5], v0, s[0:1] offset:8\n global_load_b32 v6, v[2:3], off\n"
                "global_load_i8 v7, v0, s[0:1]\n global_load_d16_hi_b16 v8, v0, s[0:1]\n s_load_b64 s[2:3], s[0:1], 0x4"
              : "global_load_dwordx2 v[4:5], v0, s[0:1] offset:8\n global_load_dword v6, v[2:3], off\n"
                "global_load_sbyte v7, v0, s[0:1]\n global_load_short_d16_hi v8, v0, s[0:1]\n"
                "s_load_dwordx2 s[2:3], s[0:1], 0x4");
    EXPECT_EQ(machine.word(4, 3), 0x05050505u);
    EXPECT_EQ(machine.word(5, 3), 0x06060606u);
    EXPECT_EQ(machine.word(6, 3), 0x03030303u);
    EXPECT_EQ(machine.word(7, 3), 3u);
    EXPECT_EQ(machine.word(8, 3), 0x0303aaaau);
    EXPECT_EQ(machine.wave.pair(2), 0x0202020201010101u);
    machine.run(isNew ? "v_mov_b32 v1, 0\n v_mov_b32 v4, 1\n s_mov_b32 exec_lo, 7\n"
                        "global_atomic_add_u32 v5, v1, v4, s[0:1] glc\n global_store_b8 v1, v4, s[0:1] offset:7"
                      : "v_mov_b32 v1, 0\n v_mov_b32 v4, 1\n s_mov_b64 exec, 7\n"
                        "global_atomic_add v5, v1, v4, s[0:1] sc0\n global_store_byte v1, v4, s[0:1] offset:7");
    EXPECT_EQ(machine.word(5, 2), 2u);
    EXPECT_EQ(data[0], 3u);
    EXPECT_EQ(data[1], 0x01010101u);
    EXPECT_EQ(data[2], 0x02020202u);
    char wanted[160];
    std::snprintf(wanted, sizeof wanted,
                  "4 bytes at 0x%llx are outside of every allocation, of which one ends at 0x%llx",
                  static_cast<unsigned long long>(address + 510), static_cast<unsigned long long>(address + 512));
    machine.fill(0, [](unsigned lane) { return lane == 2 ? 510 : 0; });
    EXPECT_EQ(
        faultOf([&] { machine.run(isNew ? "global_load_b32 v1, v0, s[0:1]" : "global_load_dword v1, v0, s[0:1]"); }),
        wanted);
    machine.memory.free(address);
    machine.memory.release(address);
    EXPECT_NE(faultOf([&] { machine.run(isNew ? "s_load_b32 s2, s[0:1], 0x0" : "s_load_dword s2, s[0:1], 0x0"); }), "");
  }
}

//===-- What is not known ---------------------------------------------------------------------===//

TEST(Decoder, whatIsNotKnownIsNamedWithItsPlace) {
  Machine machine("gfx1100");
  EXPECT_EQ(faultOf([&] { machine.run("v_mov_b32 v0, 0\n v_cvt_off_f32_i4 v0, v0\n v_sad_u8 v0, v0, v0, v0"); }),
            "'v_cvt_off_f32_i4_e32 v0, v0' at 0x4: it is not known; 'v_sad_u8 v0, v0, v0, v0' at 0x8: it is not known");
  EXPECT_EQ(faultOf([&] {
              machine.run("v_add_f32_dpp v0, v0, v0 row_shr:1 row_mask:0xf bank_mask:0xf\n v_mov_b32 v200, 0");
            }),
            "'v_mov_b32_e32 v200, 0' at 0x8: 'v200' is not among the 128 registers that the kernel has");
}

TEST(Launch, wavesMeetAtBarriersAndFaultsAreNamed) {
  Machine machine("gfx1100");
  // Each thread tells the next one its number, across wavefronts; the last one tells the first.
  const std::string text = R"(
    s_load_b64 s[0:1], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    ds_store_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_add_nc_u32 v2, v0, 1
    v_and_b32 v2, 127, v2
    v_lshlrev_b32 v2, 2, v2
    ds_load_b32 v3, v2
    s_lshl_b32 s2, s2, 9
    v_add_nc_u32 v1, s2, v1
    s_waitcnt lgkmcnt(0)
    global_store_b32 v1, v3, s[0:1]
    s_endpgm)";
  Kernel kernel;
  kernel.name = "neighbours";
  kernel.registers = {32, 8, 0};
  kernel.sharedBytes = 512;
  kernel.argumentBytes = 8;
  kernel.mode = modeDenormals32 | modeDenormals64;
  kernel.userRegisters = 2;
  kernel.argumentRegister = 0;
  kernel.hasPlace = {true, false, false};
  kernel.program = decode(machine.chip, assemble(machine.chip, text), 0, kernel.registers);
  auto *data = static_cast<uint32_t *>(machine.memory.allocate(3 * 512));
  const auto address = reinterpret_cast<uint64_t>(data);
  const std::span<const uint8_t> arguments(reinterpret_cast<const uint8_t *>(&address), 8);
  launch(kernel, {3, 1, 1}, {128, 1, 1}, arguments, machine.memory);
  for (uint32_t k = 0; k < 3 * 128; ++k)
    EXPECT_EQ(data[k], (k + 1) % 128);
  const std::string fault = faultOf([&] { launch(kernel, {4, 1, 1}, {128, 1, 1}, arguments, machine.memory); });
  EXPECT_EQ(fault.substr(0, fault.find("4 bytes")), "kernel 'neighbours' at 0x44: 'global_store_b32 v1, v3, s[0:1]': ");
  EXPECT_EQ(faultOf([&] { launch(kernel, {1, 1, 1}, {128, 1, 1}, arguments.first(4), machine.memory); }),
            "kernel 'neighbours' needs 8 bytes of arguments, got 4");
  machine.memory.free(address);
  machine.memory.release(address);
}

} // namespace vx::rocm_emulator
