import type { NamedMutation } from './named-mutation.ts';

/** Defects of the outcomes that the pipeline gets. */
export const outcomeMutations: readonly NamedMutation[] = [
  {
    name: 'loses outcomes that SNS does not accept',
    seed: 22,
    file: 'shared/pipeline/outcome-publisher.ts',
    find: "batchItemFailures: first ? [{ itemIdentifier: first.record.dynamodb?.SequenceNumber ?? '' }] : []",
    replace: 'batchItemFailures: []',
  },
  {
    name: 'publishes only outcomes of deliveries that did not fail before',
    seed: 2,
    file: 'shared/domain/delivery-outcome.ts',
    find: 'return after.status === before.status ? undefined : after.status;',
    replace: 'return before.attempt_count > 0 ? undefined : after.status;',
  },
];
