import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { alarmStates, webhookPayload } from '../../../shared/contracts/alarm-event.ts';
import { incidentKey } from '../../../shared/domain/incident.ts';
import { pagerEvent, pagerEventV2 } from '../../../shared/pipeline/transports/pager-event.ts';
import { alarmEvent, EVENT_TIME_MS } from '../../support/events.ts';

const inState = (state: 'OK' | 'WARNING' | 'CRITICAL', status?: string) => alarmEvent({ details: { state, status } });

describe('an event for the incident pager', () => {
  it.each(['CRITICAL', 'WARNING'] as const)('triggers the incident of its alarm in state %s', (state) => {
    expect(pagerEvent(inState(state, 'Disk is full'), 'key1')).toEqual({
      service_key: 'key1',
      event_type: 'trigger',
      incident_key: incidentKey(alarmEvent()),
      description: `[${state}] web-1: Disk space: Disk is full`,
      details: expect.objectContaining({ tenant_id: 'acme', event_id: alarmEvent().event_id }),
      client: expect.any(String),
    });
  });

  it('resolves the same incident in state OK', () => {
    const resolve = pagerEvent(inState('OK'), 'key1');
    expect(resolve).toMatchObject({
      event_type: 'resolve',
      incident_key: pagerEvent(alarmEvent(), 'key1').incident_key,
    });
    expect(Object.keys(resolve)).not.toContain('client');
  });

  it('contains the webhook payload', () => {
    expect(pagerEvent(alarmEvent(), 'k').details).toEqual(webhookPayload(alarmEvent()));
  });

  it('omits the largest fields of a payload above 512 KB', () => {
    const large = alarmEvent({ check: { body: '😀'.repeat(140_000) }, alarm: { id: 'al', note: 'x'.repeat(100_000) } });
    const event = pagerEvent(large, 'k');
    expect(Object.keys(event.details)).not.toContain('check');
    expect(event.details).toMatchObject({ alarm: { id: 'al' }, tenant_id: 'acme' });
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(512 * 1_024);
  });

  it('stays below 512 KB if only single fields fit', () => {
    const largeField = { id: 'x', note: 'x'.repeat(200_000) };
    const event = pagerEvent(alarmEvent({ entity: largeField, check: largeField, alarm: largeField }), 'k');
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(512 * 1_024);
    expect(Object.keys(event.details).length).toBeGreaterThanOrEqual(6);
  });

  it('has a description of at most 1,024 code points', () => {
    const { description = '' } = pagerEvent(inState('CRITICAL', '😀'.repeat(2_000)), 'k');
    expect([...description]).toHaveLength(1_024);
    expect(description.isWellFormed()).toBe(true);
  });
});

describe('an event for PagerDuty Events API v2', () => {
  const inV2 = (event: ReturnType<typeof alarmEvent>) => pagerEventV2(event, 'key1', EVENT_TIME_MS);

  it.each([
    ['CRITICAL', 'trigger', 'critical'],
    ['WARNING', 'trigger', 'warning'],
    ['OK', 'resolve', 'info'],
  ] as const)('of state %s has the action %s and the severity %s', (state, event_action, severity) => {
    expect(inV2(inState(state, 'Disk is full'))).toMatchObject({
      routing_key: 'key1',
      event_action,
      payload: {
        summary: `[${state}] web-1: Disk space: Disk is full`,
        source: 'web-1',
        severity,
        timestamp: new Date(EVENT_TIME_MS).toISOString(),
        custom_details: expect.objectContaining({ tenant_id: 'acme' }),
      },
    });
  });

  it('has the incident key of v1', () => {
    expect(inV2(alarmEvent()).dedup_key).toBe(pagerEvent(alarmEvent(), 'key1').incident_key);
  });

  it('has a source without a label or an ID', () => {
    expect(inV2(alarmEvent({ entity: { id: '\u0007' } })).payload.source).not.toBe('');
  });

  it('stays below 512 KB', () => {
    const large = alarmEvent({ entity: { id: 'x', label: '😀'.repeat(100_000), note: 'x'.repeat(490_000) } });
    expect(Buffer.byteLength(JSON.stringify(inV2(large)))).toBeLessThan(512 * 1_024);
  });

  it('has the published format, whatever labels, IDs and values the event has', () => {
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
      fc.constantFrom<unknown>(...hostile, '😀'.repeat(5_000), '"'.repeat(600_000), null, 7, true, [], {}),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...alarmStates), values, values, values, (state, status, label, check) => {
        const id = typeof label === 'string' && label !== '' ? label : 'x';
        const event = alarmEvent({ details: { state, status }, entity: { id, label }, alarm: { id, label }, check });
        const body = JSON.stringify(inV2(event));
        expect(published.safeParse(JSON.parse(body)).error?.message).toBeUndefined();
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(512 * 1_024);
      }),
      { numRuns: 200 },
    );
  });
});
