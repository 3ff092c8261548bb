import type { AlarmEvent, AlarmState } from '../contracts/alarm-event.ts';

const milliseconds = (data: number) => ({ type: 'i', data, unit: 'milliseconds' });

/**
 * Every field of the webhook payload (docs/api.md#webhook-payload), and IDs that real alarms never have: a test with
 * the state OK, the default, resolves the incident that another one opened.
 */
export const testEvent = (tenant: string, nowMs: number, state: AlarmState = 'OK'): AlarmEvent => {
  const times = { created_at: nowMs, updated_at: nowMs };
  const unset = {
    metadata: {},
    confd_name: null,
    confd_hash: null,
    active_suppressions: [],
    scheduled_suppressions: [],
  };
  return {
    event_id: `${tenant}:enTest:alTest:chTest:${nowMs}:${state}`,
    log_entry_id: 'test',
    tenant_id: tenant,
    details: {
      target: 'test.example.com',
      timestamp: nowMs,
      metrics: {
        t_firstbyte: milliseconds(8),
        duration: milliseconds(9),
        bytes: { type: 'i', data: 17, unit: 'bytes' },
        t_connect: milliseconds(3),
        code: { type: 's', data: '200', unit: 'unknown' },
      },
      state,
      status: 'This is a test of your notification. No alarm has changed its state.',
      txnid: 'test',
      collector_address_v4: '192.0.2.1',
      collector_address_v6: '2001:db8::1',
      observations: [{ monitoring_zone_id: 'mzTest', state, status: 'Test', timestamp: nowMs, collector_state: 'UP' }],
    },
    entity: {
      id: 'enTest',
      label: 'Test entity',
      ip_addresses: { default: '192.0.2.2' },
      metadata: {},
      managed: false,
      uri: null,
      agent_id: null,
      ...times,
    },
    check: {
      id: 'chTest',
      label: 'Test check',
      type: 'remote.http',
      details: {
        url: 'https://test.example.com/',
        body: null,
        method: 'GET',
        follow_redirects: true,
        include_body: false,
      },
      monitoring_zones_poll: ['mzTest'],
      timeout: 30,
      period: 60,
      target_alias: 'default',
      target_hostname: 'test.example.com',
      target_resolver: 'IPv4',
      disabled: false,
      ...unset,
      ...times,
    },
    alarm: {
      id: 'alTest',
      label: 'Test alarm',
      check_id: 'chTest',
      entity_id: 'enTest',
      criteria: `return new AlarmStatus(${state});`,
      disabled: false,
      notification_plan_id: 'npTest',
      ...unset,
      ...times,
    },
  };
};
