import { describe, expect, it } from 'vitest';
import { alarmEvent, alarmStates, webhookPayload } from '../../shared/contracts/alarm-event.ts';
import { incidentKey } from '../../shared/domain/incident.ts';
import { testEvent } from '../../shared/domain/test-event.ts';

const NOW = Date.UTC(2026, 0, 1);
const event = testEvent('acme', NOW);

describe('the event of a test message', () => {
  it('is a valid alarm event of the tenant', () => {
    expect(alarmEvent.safeParse(event).success).toBe(true);
    expect(event).toMatchObject({ tenant_id: 'acme', event_id: `acme:enTest:alTest:chTest:${NOW}:OK` });
  });

  it('is valid for the longest tenant ID', () => {
    expect(alarmEvent.safeParse(testEvent('~'.repeat(128), NOW)).success).toBe(true);
  });

  it('has the state OK, so it opens no incident', () => {
    expect(event.details.state).toBe('OK');
  });

  it.each(alarmStates)('has the state %s if a test requests it, and the same incident key', (state) => {
    const requested = testEvent('acme', NOW, state);
    expect(requested).toMatchObject({
      event_id: `acme:enTest:alTest:chTest:${NOW}:${state}`,
      details: { state, observations: [{ state }] },
    });
    expect(incidentKey(requested)).toBe(incidentKey(event));
  });

  it('has a status message that mentions the test', () => {
    expect(event.details.status).toMatch(/test/i);
  });

  it('has every field of the webhook payload', () => {
    const payload = webhookPayload(event);
    expect(Object.keys(payload.details).toSorted()).toEqual([
      'collector_address_v4',
      'collector_address_v6',
      'metrics',
      'observations',
      'state',
      'status',
      'target',
      'timestamp',
      'txnid',
    ]);
    expect(Object.keys(payload.entity).toSorted()).toEqual(
      ['id', 'label', 'ip_addresses', 'metadata', 'managed', 'uri', 'agent_id', 'created_at', 'updated_at'].toSorted(),
    );
    const monitored = ['id', 'label', 'disabled', 'metadata', 'confd_name', 'confd_hash', 'created_at', 'updated_at'];
    const suppressions = ['active_suppressions', 'scheduled_suppressions'];
    const ofCheck = ['type', 'details', 'monitoring_zones_poll', 'timeout', 'period'];
    const targets = ['target_alias', 'target_hostname', 'target_resolver'];
    expect(Object.keys(payload.check ?? {}).toSorted()).toEqual(
      [...monitored, ...suppressions, ...ofCheck, ...targets].toSorted(),
    );
    expect(Object.keys(payload.alarm).toSorted()).toEqual(
      [...monitored, ...suppressions, 'check_id', 'entity_id', 'criteria', 'notification_plan_id'].toSorted(),
    );
  });

  it('has the five metrics of the API contract with their units', () => {
    const { metrics } = event.details;
    expect(metrics).toMatchObject({
      t_firstbyte: { unit: 'milliseconds' },
      duration: { unit: 'milliseconds' },
      bytes: { unit: 'bytes' },
      t_connect: { unit: 'milliseconds' },
      code: { unit: 'unknown' },
    });
  });

  it('has one observation with the fields of the API contract', () => {
    expect(event.details.observations).toEqual([
      {
        monitoring_zone_id: expect.any(String),
        state: 'OK',
        status: expect.any(String),
        timestamp: NOW,
        collector_state: 'UP',
      },
    ]);
  });
});
