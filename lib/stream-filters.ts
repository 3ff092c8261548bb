const text = (...rules: (string | object)[]) => ({ S: rules });

/** Filters name only this key, so that no other part of a record decides. AWS refuses objects without a condition. */
const filterOf = (OldImage: object | undefined, NewImage: object) => ({
  dynamodb: { Keys: { pk: text({ prefix: 'delivery#' }) }, ...(OldImage && { OldImage }), NewImage },
});

const pending = { status: text('pending') };
const present = text({ exists: true });

/**
 * Returns the patterns of the writes in which `changeOf` finds something, as far as a filter can tell, which does not
 * compare images. Records that match none cost nothing.
 * @param hasOutcomes whether every end of a delivery is published
 */
export const streamFilters = (hasOutcomes: boolean): object[] => [
  // A failed attempt ends the lease of its claim. Claims and retries that start report nothing.
  filterOf(pending, { ...pending, last_cause: present, lease_until_ms: { N: ['0'] } }),
  filterOf(undefined, { email_report: present }),
  ...(hasOutcomes
    ? [filterOf(pending, { status: text({ 'anything-but': ['pending'] }) })]
    : [
        filterOf(pending, { status: text('failed', 'cancelled') }),
        filterOf(pending, {
          status: text('delivered', 'superseded', 'summarized'),
          last_failed_at_ms: { N: [{ exists: true }] },
        }),
        filterOf(pending, { status: text('summarized'), last_reason: text('tenant_limit_exceeded') }),
      ]),
];
