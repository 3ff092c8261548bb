import { describe, expect, it } from 'vitest';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { plannedNotifications } from '../../shared/domain/routing.ts';
import { alarmEvent } from '../support/events.ts';

const plan = { id: 'np1', ok_state: ['ntO'], warning_state: ['ntW'], critical_state: ['ntC', 'ntD'] };

const planned = (changes: Partial<AlarmEvent>) => plannedNotifications(alarmEvent(changes));

describe('who hears of an event', () => {
  it.each([
    ['OK', ['ntO']],
    ['WARNING', ['ntW']],
    ['CRITICAL', ['ntC', 'ntD']],
  ] as const)('in state %s are those whom the plan lists for it', (state, ids) => {
    expect(planned({ details: { state }, previous_state: null, notification_plan: plan })).toEqual(ids);
  });

  it.each([
    ['OK', 'WARNING'],
    ['OK', 'CRITICAL'],
    ['WARNING', 'CRITICAL'],
    ['CRITICAL', 'OK'],
    ['CRITICAL', 'WARNING'],
    ['WARNING', 'OK'],
  ] as const)('is somebody where the state changed from %s to %s', (previous_state, state) => {
    expect(planned({ details: { state }, previous_state, notification_plan: plan })).not.toEqual([]);
  });

  it.each(['OK', 'WARNING', 'CRITICAL'] as const)('is nobody where the state was and is %s', (state) => {
    expect(planned({ details: { state }, previous_state: state, notification_plan: plan })).toEqual([]);
  });

  it.each([undefined, null, 'UNKNOWN', '', 7, {}])('is somebody where the previous state was %o', (previous) => {
    expect(planned({ previous_state: previous, notification_plan: plan })).toEqual(['ntC', 'ntD']);
  });

  it('is everybody once, in the order of the plan', () => {
    const ids = ['ntB', 'ntA', 'ntB', 'ntA', 'ntC'];
    expect(planned({ notification_plan: { critical_state: ids } })).toEqual(['ntB', 'ntA', 'ntC']);
  });

  it.each([
    ['there is no plan', undefined],
    ['the plan is null', null],
    ['the plan has no list for the state', { ok_state: ['ntO'] }],
    ['the list for the state is null', { critical_state: null }],
    ['the list for the state is empty', { critical_state: [] }],
  ])('is nobody where %s', (_, notification_plan) => {
    expect(planned({ notification_plan })).toEqual([]);
  });

  it('is nobody of the prototype of the plan', () => {
    const notification_plan: unknown = JSON.parse('{"__proto__":{"critical_state":["ntX"]}}');
    expect(planned({ notification_plan })).toEqual([]);
  });

  it.each([
    ['the plan is a text', 'np1'],
    ['the plan is a number', 1],
    ['the plan is a list', ['ntA']],
    ['the list is a text', { critical_state: 'ntA' }],
    ['the list holds a number', { critical_state: ['ntA', 1] }],
    ['the list holds a list', { critical_state: [['ntA']] }],
    ['the list is a map', { critical_state: { 0: 'ntA' } }],
  ])('cannot be told where %s', (_, notification_plan) => {
    expect(planned({ notification_plan })).toBeUndefined();
  });

  it('can be told where only a list for another state is malformed', () => {
    expect(planned({ notification_plan: { ...plan, ok_state: 'ntO' } })).toEqual(['ntC', 'ntD']);
  });
});
