import { describe, expect, it } from 'vitest';
import { type AlarmEvent, alarmStates } from '../../shared/contracts/alarm-event.ts';
import { plannedNotifications } from '../../shared/domain/event-header.ts';
import { alarmEvent } from '../support/events.ts';

const plan = { id: 'np1', ok_state: ['ntO'], warning_state: ['ntW'], critical_state: ['ntC', 'ntD'] };

const planned = (changes: Partial<AlarmEvent>) => plannedNotifications(alarmEvent(changes));

describe('the planned notifications of an event', () => {
  it.each([
    ['OK', ['ntO']],
    ['WARNING', ['ntW']],
    ['CRITICAL', ['ntC', 'ntD']],
  ] as const)(
    'in state %s are those that the plan lists for the state, and none if it did not change',
    (state, ids) => {
      for (const previous_state of alarmStates) {
        const found = planned({ details: { state }, previous_state, notification_plan: plan });
        expect([previous_state, found]).toEqual([previous_state, previous_state === state ? [] : ids]);
      }
    },
  );

  it.each([undefined, null, 'UNKNOWN', '', 7, {}])('are not empty if the previous state was %o', (previous) => {
    expect(planned({ previous_state: previous, notification_plan: plan })).toEqual(['ntC', 'ntD']);
  });

  it('contain no duplicates, and keep the order of the plan', () => {
    const ids = ['ntB', 'ntA', 'ntB', 'ntA', 'ntC'];
    expect(planned({ notification_plan: { critical_state: ids } })).toEqual(['ntB', 'ntA', 'ntC']);
  });

  it.each([
    ['the plan has no list for the state', { ok_state: ['ntO'] }],
    ['the list for the state is null', { critical_state: null }],
    ['the list for the state is empty', { critical_state: [] }],
  ])('are empty if %s', (_, notification_plan) => {
    expect(planned({ notification_plan })).toEqual([]);
  });

  it('ignore the prototype of the plan', () => {
    const notification_plan: unknown = JSON.parse('{"__proto__":{"critical_state":["ntX"]}}');
    expect(planned({ notification_plan })).toEqual([]);
  });
});
