import { summarizingFunction } from '../shared/pipeline/sender/summarize.ts';
import { createSmsTransport } from '../shared/pipeline/transports/sms.ts';

const { environment, limits, sharedRate, sender } = summarizingFunction('sms');

/** Sends alerts to `sms` notifications. */
export const handler = sender(createSmsTransport(environment, limits, sharedRate));
