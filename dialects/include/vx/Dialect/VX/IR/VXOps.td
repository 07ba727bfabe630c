// All ops of the dialect, in families.
include "vx/Dialect/VX/IR/VXOpsElementwise.td"
include "vx/Dialect/VX/IR/VXOpsShape.td"
include "vx/Dialect/VX/IR/VXOpsContraction.td"
include "vx/Dialect/VX/IR/VXOpsReduction.td"
include "vx/Dialect/VX/IR/VXOpsNorm.td"
include "vx/Dialect/VX/IR/VXOpsAttention.td"
include "vx/Dialect/VX/IR/VXOpsIndexing.td"
include "vx/Dialect/VX/IR/VXOpsControl.td"
