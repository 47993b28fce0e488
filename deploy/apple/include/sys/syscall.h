/* The allocator includes this header of macOS, which zig leaves out, and uses nothing of it. */
