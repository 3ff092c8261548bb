import { describe, expect, it } from 'vitest';
import { webhookPayload } from '../../../shared/contracts/alarm-event.ts';
import { incidentKey } from '../../../shared/domain/incident.ts';
import { pagerEvent } from '../../../shared/pipeline/transports/pager-event.ts';
import { alarmEvent } from '../../support/events.ts';

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
