/* The limits of one module file. The loader refuses files that exceed them, so a writer must stay within the same
 * limits: a file that no runtime would load is an error of the writer. A limit may grow with the version of the format,
 * never shrink.
 */
#ifndef VX_ABI_LIMITS_H
#define VX_ABI_LIMITS_H

#define VX_MAX_EXPRESSION_NODES 65536  /* of one Expr */
#define VX_MAX_RANK 64                 /* dims of one tensor */
#define VX_MAX_BLOCK_NESTING 64        /* blocks inside blocks; the interpreter recurses that deep */
#define VX_MAX_REGISTERS 1048576       /* of one kind in one program */
#define VX_MAX_COMMAND_REGISTERS 4096  /* buffers of one command; scalars of one command */
#define VX_MAX_SECTIONS 65536          /* of one file */
#define VX_MAX_METADATA_TABLES 4000000 /* FlatBuffers tables of one file */
#define VX_MAX_STRING_BYTES 4294967295 /* of the strings of one value; of those of one call */

#endif
