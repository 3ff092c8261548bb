import { describe, expect, it } from 'vitest';
import { webhookPayload } from '../../../shared/contracts/alarm-event.ts';
import { incidentKey } from '../../../shared/domain/incident.ts';
import { routerEvent } from '../../../shared/pipeline/transports/router-event.ts';
import { alarmEvent, EVENT_TIME_MS } from '../../support/events.ts';

describe('an event for the incident router', () => {
  it('contains the webhook payload and the fields of the router', () => {
    expect(routerEvent(alarmEvent(), EVENT_TIME_MS)).toEqual({
      ...webhookPayload(alarmEvent()),
      message_type: 'CRITICAL',
      entity_id: incidentKey(alarmEvent()),
      entity_display_name: '[CRITICAL] web-1: Disk space',
      state_message: 'Disk is full',
      timestamp: EVENT_TIME_MS / 1_000,
      state_start_time: EVENT_TIME_MS / 1_000,
      monitoring_tool: 'Monitoring Notifications',
    });
  });

  it.each([
    ['OK', 'RECOVERY'],
    ['WARNING', 'WARNING'],
    ['CRITICAL', 'CRITICAL'],
  ] as const)('maps state %s to type %s, with the same incident', (state, type) => {
    expect(routerEvent(alarmEvent({ details: { state } }), EVENT_TIME_MS)).toMatchObject({
      message_type: type,
      entity_id: incidentKey(alarmEvent()),
    });
  });

  it('has the time of the state change in whole seconds', () => {
    expect(routerEvent(alarmEvent(), 1_700_000_000_999)).toMatchObject({
      timestamp: 1_700_000_000,
      state_start_time: 1_700_000_000,
    });
  });

  it('has a state message of at most 20,480 code points, by default the headline', () => {
    const long = routerEvent(alarmEvent({ details: { state: 'OK', status: '😀'.repeat(30_000) } }), EVENT_TIME_MS);
    expect([...long.state_message]).toHaveLength(20_480);
    expect(routerEvent(alarmEvent({ details: { state: 'OK' } }), EVENT_TIME_MS).state_message).toBe(
      '[OK] web-1: Disk space',
    );
  });
});
