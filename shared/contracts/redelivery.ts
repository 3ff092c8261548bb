import * as z from 'zod/mini';
import { isTimeMs, MARKER_RULE, MAX_EVENT_ID_LENGTH, TIME_RULE } from './collection.ts';
import { boundedText, withoutNulls } from './text.ts';

/** The time of the first request and the position to continue after, `-` instead of `#`. */
export const REDELIVERY_MARKER = /^\d{13}(-\d{13}-[\da-f]{64})?$/;

const MAX_MARKER_LENGTH = 92;

const request = z
  .object(
    {
      // Unlike other checks, `refine` does not run on values of another type, for which it would repeat the error.
      event_id: z.optional(
        boundedText(
          {
            max: MAX_EVENT_ID_LENGTH,
            type: 'must be a string',
            rule: `must be at most ${MAX_EVENT_ID_LENGTH} characters`,
          },
          z.refine((id) => id !== '', 'must not be empty'),
        ),
      ),
      since: z.optional(z.number(TIME_RULE).check(z.refine(isTimeMs, TIME_RULE))),
      status: z.optional(z.literal('pending', 'must be pending')),
      marker: z.optional(
        boundedText({ max: MAX_MARKER_LENGTH, rule: MARKER_RULE }, z.regex(REDELIVERY_MARKER, MARKER_RULE)),
      ),
    },
    'must be a JSON object',
  )
  .check(
    z.refine(
      ({ event_id, since, status }) =>
        since === undefined ? event_id !== undefined || status !== undefined : (event_id ?? status) === undefined,
      'must have exactly one of event_id, since and status, or event_id and status',
    ),
    z.refine(
      ({ event_id, marker }) => event_id === undefined || marker === undefined,
      'must not have marker with event_id',
    ),
  );

export type RedeliveryRequest = z.infer<typeof request>;

export const parseRedelivery = (body: unknown) => request.safeParse(withoutNulls(body));
export const redeliveryBody = { parse: parseRedelivery, attributes: Object.keys(request.shape) };
