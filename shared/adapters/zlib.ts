/** Returns `node:zlib`, which takes 2 ms to load. Few invocations compress, so it must not delay every cold start. */
export const zlib = () => process.getBuiltinModule('node:zlib');
