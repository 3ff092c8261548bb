import { describe, expect, it } from 'vitest';
import { readTrace, trace } from '../../shared/contracts/trace.ts';

const ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${ID}-00f067aa0ba902b7-01`;
const later = traceparent.replace('00', 'cc');

describe('the trace of an event', () => {
  it('has no state that is too long, which nothing else reads', () => {
    const tracestate = `a${' '.repeat(350_000)}=b`;
    expect(readTrace({ traceparent, tracestate })?.headers).toEqual({ traceparent });
  });

  it('has the ID and the headers', () => {
    const tracestate = 'congo=t61rcWkgMzE, tenant-1@rojo=00f067aa0ba902b7,';
    expect(readTrace({ traceparent, tracestate })).toEqual({ id: ID, headers: { traceparent, tracestate } });
    expect(readTrace({ traceparent })).toEqual({ id: ID, headers: { traceparent } });
  });

  it.each([later, `${later}-what-the-future-will-be-like`])('can have a later version: %s', (value) => {
    expect(readTrace({ traceparent: value })).toEqual({ id: ID, headers: { traceparent: value } });
  });

  it.each([
    undefined,
    [traceparent],
    `${traceparent}\r\nx-injected: 1`,
    `${traceparent}-01`,
    `${later}.01`,
    `${later}-${'x'.repeat(201)}`,
    traceparent.replace('00', 'ff'),
    traceparent.toUpperCase(),
    traceparent.replace(ID, '0'.repeat(32)),
    traceparent.replace('00f067aa0ba902b7', '0'.repeat(16)),
    traceparent.replace('4b', 'g'),
  ])('is absent, also its state, if traceparent is %j', (value) => {
    expect(readTrace({ traceparent: value, tracestate: 'a=b' })).toBeUndefined();
  });

  it.each([
    `a=${'x'.repeat(256)},b=${'x'.repeat(251)}`,
    Array.from({ length: 32 }, (_, index) => `k${index}=v`).join(),
    `${'k'.repeat(256)}=v`,
    `0tenant@${'s'.repeat(14)}=a b`,
    ' \ta=b\t , ,c=d',
    '0a=b',
    `a@${'s'.repeat(15)}=b,a/b@c@d=e`,
  ])('has the state %j', (tracestate) => {
    expect(readTrace({ traceparent, tracestate })?.headers).toEqual({ traceparent, tracestate });
  });

  it.each([
    ['a=b,a=c', 'a=b'],
    ['a=1, c=2,a=3 ,d=4,c=5', 'a=1,c=2,d=4'],
    ['a=1,a=1', 'a=1'],
  ])('keeps the first of the members with one key: %s', (tracestate, kept) => {
    expect(readTrace({ traceparent, tracestate })?.headers).toEqual({ traceparent, tracestate: kept });
  });

  it.each([
    7,
    ' , ',
    'a=',
    'a=b=c',
    'A=b',
    'a=b\r\nx-injected: 1',
    `a=${'x'.repeat(257)}`,
    `a=${'x'.repeat(256)},b=${'x'.repeat(252)}`,
    Array.from({ length: 33 }, (_, index) => `k${index}=v`).join(),
  ])('has no state if that is %j', (tracestate) => {
    expect(readTrace({ traceparent, tracestate })).toEqual({ id: ID, headers: { traceparent } });
  });

  it('in a message between functions obeys the same rules', () => {
    expect(trace.safeParse({ id: ID, headers: { traceparent, tracestate: 'a=b' } }).success).toBe(true);
    for (const headers of [{ traceparent: `${traceparent}\n` }, { traceparent, tracestate: 'a=b\nc' }]) {
      expect(trace.safeParse({ id: ID, headers }).success).toBe(false);
    }
  });
});
