import * as z from 'zod/mini';
import { boundedText } from './text.ts';

/** [W3C Trace Context](https://www.w3.org/TR/trace-context/). A later version than 00 may have more fields. */
const TRACEPARENT = /^(?!ff|00.{53}.)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(-[\x21-\x7e]*)?$/;

/** W3C sets no maximum. Version 00 has 55 characters. */
const MAX_TRACEPARENT_LENGTH = 256;

/** A key and a value (W3C Trace Context Level 2, which permits more keys than Level 1). */
const MEMBER = /^([a-z\d][a-z\d_*/@-]{0,255})=([\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e])$/;

/** The length that W3C requires of whoever forwards it. */
const MAX_TRACESTATE_LENGTH = 512;
const MAX_MEMBERS = 32;

/** Members are separated by commas and white space, and may be empty. */
const membersOf = (text: string): string[] =>
  text
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');

const keyOf = (member: string): string | undefined => MEMBER.exec(member)?.[1];

/** The first member with a key is the newest one. */
const withUniqueKeys = (text: string): string => {
  const members = membersOf(text);
  const unique = members.filter(
    (member, index) => members.findIndex((each) => keyOf(each) === keyOf(member)) === index,
  );
  return unique.length === members.length ? text : unique.join();
};

const isTracestate = (text: string): boolean => {
  const members = membersOf(text);
  const keys = members.map(keyOf);
  const isUnique = new Set(keys).size === keys.length;
  return members.length > 0 && members.length <= MAX_MEMBERS && isUnique && !keys.includes(undefined);
};

const traceparent = boundedText({ max: MAX_TRACEPARENT_LENGTH }, z.regex(TRACEPARENT));
const tracestate = boundedText({ max: MAX_TRACESTATE_LENGTH }, z.refine(isTracestate));
const receivedTracestate = z.pipe(
  z.pipe(boundedText({ max: MAX_TRACESTATE_LENGTH }), z.transform(withUniqueKeys)),
  tracestate,
);

/** Only messages, dead letters and stored failed messages contain `tracestate`: it is never logged or shown. */
export const trace = z.object({
  id: boundedText({ max: 32 }, z.regex(/^[\da-f]{32}$/)),
  /** What HTTP receivers get. Absent in a notice, which has only the ID of the alert's trace. */
  headers: z.optional(z.object({ traceparent, tracestate: z.exactOptional(tracestate) })),
});

export type Trace = z.infer<typeof trace>;

/** Reads headers, fields or message attributes. An invalid value is absent: it must not prevent an alert. */
export const readTrace = (source: Readonly<Record<string, unknown>>): Trace | undefined => {
  const parent = traceparent.safeParse(source.traceparent);
  if (!parent.success) return undefined;
  const state = receivedTracestate.safeParse(source.tracestate);
  const [, id = ''] = parent.data.split('-');
  return { id, headers: { traceparent: parent.data, ...(state.success && { tracestate: state.data }) } };
};
