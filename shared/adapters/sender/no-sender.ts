import type { Deliver } from '../../domain/deliver.ts';
import { failed } from '../../domain/outcome.ts';

/** The delivery of a type that the API knows and nobody can deliver to yet: it fails at once, so that it is seen. */
export const noDelivery: Deliver = async () =>
  failed('permanent', 'no sender yet', 'not delivered: no sender yet', { cause: 'service' });
