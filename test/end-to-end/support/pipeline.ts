import { inject } from 'vitest';
import { connectPipeline } from '../../support/pipeline.ts';
import * as api from './api.ts';

export { alarmEvent, type Sent, until } from '../../support/pipeline.ts';

/** The pipeline of the stack that runs for all end-to-end tests. */
export const { sqs, sendEvents, inbox, sent, deliveries, delivery, deadLetterQueue, deadLetter, depth } =
  connectPipeline(inject('stack'), api);
