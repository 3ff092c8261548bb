import { describe, expect, it } from 'vitest';
import { webhookPayload } from '../../shared/contracts/alarm-event.ts';
import { incidentKey } from '../../shared/domain/incident.ts';
import { routerEvent } from '../../shared/domain/router-event.ts';
import { alarmEvent, EVENT_TIME } from '../support/events.ts';

const NOW = EVENT_TIME + 60_000;

describe('a message for the incident router', () => {
  it('is the webhook’s payload and the router’s own fields', () => {
    expect(routerEvent(alarmEvent(), NOW)).toEqual({
      ...webhookPayload(alarmEvent()),
      message_type: 'CRITICAL',
      entity_id: incidentKey(alarmEvent()),
      entity_display_name: '[CRITICAL] web-1: Disk space',
      state_message: 'Disk is full',
      timestamp: EVENT_TIME / 1_000,
      state_start_time: EVENT_TIME / 1_000,
      monitoring_tool: 'Monitoring Notifications',
    });
  });

  it.each([
    ['OK', 'RECOVERY'],
    ['WARNING', 'WARNING'],
    ['CRITICAL', 'CRITICAL'],
  ] as const)('in state %s is of type %s, about the same incident', (state, type) => {
    expect(routerEvent(alarmEvent({ details: { state } }), NOW)).toMatchObject({
      message_type: type,
      entity_id: incidentKey(alarmEvent()),
    });
  });

  it('is of now where the event does not say when it was', () => {
    const event = alarmEvent({ event_id: 'e', details: { state: 'OK' } });
    expect(routerEvent(event, NOW)).toMatchObject({ timestamp: NOW / 1_000, state_start_time: NOW / 1_000 });
  });

  it('has a state message of at most 20,480 characters, and always one', () => {
    const long = routerEvent(alarmEvent({ details: { state: 'OK', status: '😀'.repeat(30_000) } }), NOW);
    expect([...long.state_message]).toHaveLength(20_480);
    expect(routerEvent(alarmEvent({ details: { state: 'OK' } }), NOW).state_message).toBe('[OK] web-1: Disk space');
  });
});
