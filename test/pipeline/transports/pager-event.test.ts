import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  type AlarmEvent,
  type AlarmState,
  alarmStates,
  webhookPayload,
} from '../../../shared/contracts/alarm-event.ts';
import { incidentKey } from '../../../shared/domain/incident.ts';
import { pagerEvent, pagerEventV2 } from '../../../shared/pipeline/transports/incidentpager.ts';
import { alarmEvent, alertContent, EVENT_TIME_MS, EXACT_NUMBERS, exactContent } from '../../support/events.ts';
import { runs } from '../../support/quick-run.ts';

const parsedEvent = (event: AlarmEvent) => {
  return JSON.parse(pagerEvent(alertContent(event), 'key1'));
};

const inState = (state: AlarmState, status?: string) => alarmEvent({ details: { state, status } });

describe('an event for the incident pager', () => {
  it.each(['CRITICAL', 'WARNING'] as const)('triggers the incident of its alarm in state %s', (state) => {
    expect(parsedEvent(inState(state, 'Disk is full'))).toEqual({
      service_key: 'key1',
      event_type: 'trigger',
      incident_key: incidentKey(alarmEvent()),
      description: `[${state}] web-1: Disk space: Disk is full`,
      details: webhookPayload(inState(state, 'Disk is full')),
      client: expect.any(String),
    });
  });

  it('resolves the same incident in state OK', () => {
    const resolve = parsedEvent(inState('OK'));
    expect(resolve).toMatchObject({ event_type: 'resolve', incident_key: parsedEvent(alarmEvent()).incident_key });
    expect(Object.keys(resolve)).not.toContain('client');
  });

  it('preserves the digits of the numbers in the payload', () => {
    const body = pagerEvent(exactContent, 'key1');
    expect(body).toContain(`"details":${exactContent.payload}`);
    expect(body).toContain(EXACT_NUMBERS);
  });

  it('has a description of at most 1,024 code points', () => {
    const { description } = parsedEvent(inState('CRITICAL', '😀'.repeat(2_000)));
    expect([...description]).toHaveLength(1_024);
    expect(description.isWellFormed()).toBe(true);
  });
});

describe('an event for PagerDuty Events API v2', () => {
  const inV2 = (event: AlarmEvent) => {
    const content = alertContent(event);
    const body = pagerEventV2({ ...content, eventTimeMs: EVENT_TIME_MS }, 'key1');
    return { body, payload: content.payload, parsed: JSON.parse(body) };
  };

  it.each([
    ['CRITICAL', 'trigger', 'critical'],
    ['WARNING', 'trigger', 'warning'],
    ['OK', 'resolve', 'info'],
  ] as const)('of state %s has the action %s and the severity %s', (state, event_action, severity) => {
    expect(inV2(inState(state, 'Disk is full')).parsed).toMatchObject({
      routing_key: 'key1',
      event_action,
      payload: {
        summary: `[${state}] web-1: Disk space: Disk is full`,
        source: 'web-1',
        severity,
        timestamp: new Date(EVENT_TIME_MS).toISOString(),
        custom_details: webhookPayload(inState(state, 'Disk is full')),
      },
    });
  });

  it('has the incident key of v1', () => {
    expect(inV2(alarmEvent()).parsed.dedup_key).toBe(parsedEvent(alarmEvent()).incident_key);
  });

  it('has a source without a label or an ID', () => {
    expect(inV2(alarmEvent({ entity: { id: '\u0007' } })).parsed.payload.source).not.toBe('');
  });

  it('has the published format with the whole payload, whatever labels, IDs and values the event has', () => {
    const published = z.strictObject({
      routing_key: z.literal('key1'),
      dedup_key: z.string().min(1).max(255),
      event_action: z.enum(['trigger', 'resolve']),
      payload: z.strictObject({
        summary: z
          .string()
          .regex(/\S/)
          .refine(({ length }) => length <= 1_024),
        source: z.string().regex(/\S/),
        severity: z.enum(['critical', 'error', 'warning', 'info']),
        timestamp: z.iso.datetime({ offset: true }),
        custom_details: z.record(z.string(), z.unknown()),
      }),
      client: z.string().optional(),
    });
    const hostile = [
      '',
      ' ',
      '"',
      '\\',
      '\r\n',
      '\0',
      '\ud800',
      '\u202e',
      '\u200b',
      '{{alert.title}}',
      'l'.repeat(50_000),
    ];
    const values = fc.oneof(
      fc.constantFrom<unknown>(...hostile, '😀'.repeat(5_000), '"'.repeat(5_000), null, 7, true, [], {}),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...alarmStates), values, values, values, (state, status, label, check) => {
        const id = typeof label === 'string' && label !== '' ? label : 'x';
        const event = alarmEvent({ details: { state, status }, entity: { id, label }, alarm: { id, label }, check });
        const { body, payload, parsed } = inV2(event);
        expect(published.safeParse(parsed).error?.message).toBeUndefined();
        expect(body).toContain(`"custom_details":${payload}`);
        expect(Buffer.byteLength(body) - Buffer.byteLength(payload)).toBeLessThan(16 * 1_024);
      }),
      { numRuns: runs(200) },
    );
  });
});
