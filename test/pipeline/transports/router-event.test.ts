import { describe, expect, it } from 'vitest';
import { type AlarmEvent, webhookPayload } from '../../../shared/contracts/alarm-event.ts';
import { incidentKey } from '../../../shared/domain/incident.ts';
import { routerEvent } from '../../../shared/pipeline/transports/incidentrouter.ts';
import { alarmEvent, alertContent, EVENT_TIME_MS, EXACT_NUMBERS, exactContent } from '../../support/events.ts';

const parsedEvent = (changes: Partial<AlarmEvent> = {}, timeMs = EVENT_TIME_MS) => {
  return JSON.parse(routerEvent({ ...alertContent(alarmEvent(changes)), eventTimeMs: timeMs }));
};

describe('an event for the incident router', () => {
  it('contains the webhook payload and the fields of the router', () => {
    expect(parsedEvent()).toEqual({
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

  it('preserves the digits of the numbers in the payload', () => {
    const body = routerEvent({ ...exactContent, eventTimeMs: EVENT_TIME_MS });
    expect(body).toContain(exactContent.payload.slice(0, -1));
    expect(body).toContain(EXACT_NUMBERS);
  });

  it.each([
    ['OK', 'RECOVERY'],
    ['WARNING', 'WARNING'],
    ['CRITICAL', 'CRITICAL'],
  ] as const)('maps state %s to type %s, with the same incident', (state, type) => {
    expect(parsedEvent({ details: { state } })).toMatchObject({
      message_type: type,
      entity_id: incidentKey(alarmEvent()),
    });
  });

  it('has the time of the state change in whole seconds', () => {
    expect(parsedEvent({}, 1_700_000_000_999)).toMatchObject({
      timestamp: 1_700_000_000,
      state_start_time: 1_700_000_000,
    });
  });

  it('has a state message of at most 1,000 code points, by default the headline', () => {
    const long = parsedEvent({ details: { state: 'OK', status: '😀'.repeat(30_000) } });
    expect([...long.state_message]).toHaveLength(1_000);
    expect(parsedEvent({ details: { state: 'OK' } }).state_message).toBe('[OK] web-1: Disk space');
  });
});
