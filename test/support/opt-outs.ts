/** The key of the opt-out links of a stack. */
export const OPT_OUT_KEY = Buffer.alloc(32, 1);

/** The keys of opt-out links of a stack. */
export const optOutKeys = { current: async () => OPT_OUT_KEY };

/** The stops of a stack without stops. */
export const noStops = {
  find: async () => undefined,
  claimTest: async () => undefined,
  giveBackTest: async () => undefined,
  bounce: async () => undefined,
};

/** The accounts of a stack whose emails are on. */
export const emailOn = { isEmailOff: async () => false };
