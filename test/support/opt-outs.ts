/** The keys of opt-out links of a stack. */
export const optOutKeys = { current: async () => Buffer.alloc(32, 1) };

/** The opt-outs of a stack without any. */
export const noOptOuts = { remaining: async (_: string, addresses: readonly string[]) => [...addresses] };
