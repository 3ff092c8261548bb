import { describe, expect, it } from 'vitest';
import { alarmEvent, alarmStates, webhookPayload } from '../../shared/contracts/alarm-event.ts';
import { incidentKey } from '../../shared/domain/incident.ts';
import { testEvent } from '../../shared/domain/test-event.ts';

const NOW = Date.UTC(2026, 0, 1);
const event = testEvent('acme', NOW);

describe('the event of a test message', () => {
  it('is a valid alarm event of the tenant, also with the longest ID, that mentions the test and opens no incident', () => {
    for (const valid of [event, testEvent('~'.repeat(128), NOW)])
      expect(alarmEvent.safeParse(valid).success).toBe(true);
    expect(event).toMatchObject({
      tenant_id: 'acme',
      event_id: `acme:enTest:alTest:chTest:${NOW}:OK`,
      details: { state: 'OK', status: expect.stringMatching(/test/i) },
    });
  });

  it.each(alarmStates)('has the state %s if a test requests it, and the same incident key', (state) => {
    const requested = testEvent('acme', NOW, state);
    expect(requested).toMatchObject({
      event_id: `acme:enTest:alTest:chTest:${NOW}:${state}`,
      details: { state, observations: [{ state }] },
    });
    expect(incidentKey(requested)).toBe(incidentKey(event));
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

  it('has the five metrics of the API contract with their units, and one observation', () => {
    const { metrics, observations } = event.details;
    const units = { t_firstbyte: 'milliseconds', duration: 'milliseconds', bytes: 'bytes', t_connect: 'milliseconds' };
    for (const [name, unit] of Object.entries({ ...units, code: 'unknown' }))
      expect(metrics).toMatchObject({ [name]: { unit } });
    expect(observations).toEqual([
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
