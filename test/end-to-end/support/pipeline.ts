import { inject } from 'vitest';
import { connectPipeline } from '../../support/pipeline.ts';
import * as api from './api.ts';

export const { sqs, sendEvents, inbox, sent, deliveries, delivery, deadLetterQueue, deadLetter } = connectPipeline(
  inject('stack'),
  api,
);
