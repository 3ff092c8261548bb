import type { RefusalOf } from './sender-dependencies.ts';

/** Returns the refusal for the first reason that applies, in this order. */
export const firstRefusal =
  (...refusals: readonly (RefusalOf | undefined)[]): RefusalOf =>
  async (tenant, target) => {
    for (const refusalOf of refusals) {
      const reason = await refusalOf?.(tenant, target);
      if (reason) return reason;
    }
    return undefined;
  };
