import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';

/** The maximum size of an alarm event, in bytes. */
export const LARGEST_EVENT_BYTES = 256 * 1_024;

/**
 * Returns the JSON of an alarm event of at most `bytes` bytes, filled with details that need 50 times their size when
 * they are parsed.
 */
export const costlyEvent = (event: AlarmEvent, bytes = LARGEST_EVENT_BYTES): string => {
  const filled = (list: string) =>
    JSON.stringify({ ...event, details: { ...event.details, list: '#' } }).replace('"#"', `[1.0${list}]`);
  const element = ',{}';
  return filled(element.repeat(Math.floor((bytes - Buffer.byteLength(filled(''))) / element.length)));
};
