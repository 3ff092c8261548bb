import type { Observations } from '../world/observations.ts';
import type { Arrival } from '../world/receivers.ts';
import { notificationsOf, type Phase, type PlannedTenant, type State } from '../world/scenario.ts';
import { mayBeStopped } from './email-stops.ts';
import { areFunctionsCalm } from './requests.ts';

export type NoticeKind =
  | 'failing'
  | 'rejected'
  | 'undelivered'
  | 'recovered'
  | 'unreached'
  | 'unreached-summary'
  | 'limit'
  | 'stopped';

export type Notice = {
  kind: NoticeKind;
  tenant: PlannedTenant;
  arrival: Arrival;
  /** The notification of a failing or undelivered notice. */
  notification: number | undefined;
  /** The state and the alarm of an escalation. `summary` if it is that of a summary. */
  state: State | undefined;
  alarm: string | undefined;
};

const HEADLINE = /\[(OK|WARNING|CRITICAL)\] [^:\n]+: ([\w-]+)/;
const SUMMARY_OF_ESCALATIONS = /(OK alerts|alarms) reached nobody today/;

const stateOf = (text: string | undefined): State | undefined =>
  text === 'OK' || text === 'WARNING' || text === 'CRITICAL' ? text : undefined;

/** The subject of an email or message to the operators, or the text of other notices. */
const kindOf = ({ text }: Arrival): NoticeKind | undefined => {
  const [subject = ''] = text.replace(/^Tenant: .*\n+/, '').split('\n');
  if (SUMMARY_OF_ESCALATIONS.test(text)) return 'unreached-summary';
  if (/is failing$/.test(subject)) return text.includes('AWS rejected the content') ? 'rejected' : 'failing';
  if (/works again$/.test(subject)) return 'recovered';
  if (/was not delivered$/.test(subject)) return 'undelivered';
  if (/alerts are summarized$/.test(subject)) return 'limit';
  if (/^Emails to .* (are|were) stopped( today)?$/.test(subject)) return 'stopped';
  if (/Escalated: |could be reached$|could not be reached$|could not be delivered|that do not exist$/m.test(text))
    return 'unreached';
  return undefined;
};

const escalationOf = (text: string): { state: State | undefined; alarm: string | undefined } => {
  if (text.includes('could not be delivered'))
    return { state: stateOf(/(OK|WARNING|CRITICAL)/.exec(text)?.[1]), alarm: 'summary' };
  const [, state, alarm] = HEADLINE.exec(text) ?? [];
  if (alarm !== undefined) return { state: stateOf(state), alarm };
  // The payload of a webhook.
  return {
    state: stateOf(/-(OK|WARNING|CRITICAL):\d+:unreached/.exec(text)?.[1]),
    alarm: /"alarm":\{"id":"([\w-]+)"/.exec(text)?.[1],
  };
};

/** Returns the notices of a run in the order of their arrival. @throws Error for an unknown one */
export const noticesOf = ({ scenario, arrivals, ids }: Observations): Notice[] => {
  const tenants = new Map(
    scenario.tenants.flatMap((tenant) => [
      ...notificationsOf(tenant).map(({ key }) => [key, tenant] as const),
      ...tenant.contacts.map(({ address }) => [address, tenant] as const),
      [`tenant ${tenant.name}`, tenant] as const,
    ]),
  );
  const indexes = new Map([...ids].map(([index, id]) => [id, index]));
  return arrivals
    .filter(({ kind }) => kind === 'notice' || kind === 'escalation')
    .map((arrival) => {
      const tenant = tenants.get(arrival.to);
      const kind = kindOf(arrival);
      if (!tenant || !kind) throw new Error(`${arrival.to} got an unknown notice: ${arrival.text}`);
      const id = /^ID: (\S+)$/m.exec(arrival.text)?.[1];
      const isEscalation = kind === 'unreached' || kind === 'unreached-summary';
      const { state, alarm } = isEscalation ? escalationOf(arrival.text) : { state: undefined, alarm: undefined };
      return { kind, tenant, arrival, notification: indexes.get(id ?? ''), state, alarm };
    });
};

/** A notice arrives within this time after what it is about, if nothing fails, ms. */
const MAX_NOTICE_MS = 900_000;

/** A time of the rules of notices, ms since the start: a notice for the same hour or day may have been sent from `fromMs` on. */
export type NoticeTime = { fromMs: number; atMs: number };

/**
 * Returns whether a recipient of emails must get a notice: it neither rejected emails nor may have been stopped when the
 * notice was sent. If something failed, that may have been at any time after its cause.
 */
export const mustGetNotice = (
  { to, phases }: { to: string; phases: readonly Phase[] },
  { fromMs, atMs }: NoticeTime,
  observations: Observations,
): boolean => {
  const behaviors = (untilMs: number): string[] =>
    phases
      .filter(({ fromMs: phaseMs }, index) => phaseMs <= untilMs && (phases[index + 1]?.fromMs ?? untilMs) >= fromMs)
      .map(({ behavior }) => behavior);
  const promptMs = atMs + MAX_NOTICE_MS;
  const isPrompt =
    behaviors(promptMs).every((behavior) => behavior.startsWith('accept')) &&
    areFunctionsCalm(observations, /./, fromMs, promptMs);
  const untilMs = isPrompt ? promptMs : Number.POSITIVE_INFINITY;
  return !behaviors(untilMs).includes('reject') && !mayBeStopped(observations, to, fromMs, untilMs);
};

/** The stream, the queue of reports and a sender take at most this time without faults, with cold starts, ms. */
const MAX_PROMPT_MS = 120_000;

/** An attempt is recorded within this time, ms. */
const MAX_RECORD_MS = 30_000;

/**
 * Returns by when a recipient gets a notice of a failure at a time, ms since the start: Infinity if a fault of a function
 * that reports or sends it overlaps that time, or the recipient may not accept it.
 */
export const noticeByMs = (
  { fallback, contacts }: PlannedTenant,
  to: string,
  atMs: number,
  observations: Observations,
): number => {
  const { stream, sendingRate } = observations.scenario;
  const fromMs = atMs - MAX_RECORD_MS;
  // A batch waits for the one before it.
  const byMs = atMs + MAX_PROMPT_MS + 2 * stream.maxDelayMs;
  const { phases = [] } =
    contacts.find(({ address }) => address === to) ?? (fallback?.key === to ? fallback : undefined) ?? {};
  const accepts = phases.every(
    ({ fromMs: phaseMs, behavior }, index) =>
      behavior === 'accept' || phaseMs > byMs || (phases[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY) < fromMs,
  );
  const isPaused = stream.pause !== undefined && stream.pause.fromMs <= byMs && fromMs < stream.pause.untilMs;
  const functions = new RegExp(
    `^(watch-deliveries|report-deliveries|send-(technicalContactsEmail|managed|${fallback?.type}))#`,
  );
  const isPrompt =
    accepts && !isPaused && sendingRate === undefined && areFunctionsCalm(observations, functions, fromMs, byMs);
  return isPrompt ? byMs : Number.POSITIVE_INFINITY;
};

/** Returns whether an account was in shadow mode when a notice was to be sent, or may have been. */
export const mayBeShadowed = ({ name }: PlannedTenant, { fromMs }: NoticeTime, { shadows }: Observations): boolean =>
  shadows.some(({ tenant, untilMs }) => tenant === name && fromMs <= untilMs);

/** Returns the addresses of the technical contacts that must get a notice. */
export const contactsOf = (tenant: PlannedTenant, time: NoticeTime, observations: Observations): string[] =>
  mayBeShadowed(tenant, time, observations)
    ? []
    : tenant.contacts
        .filter(({ address, phases }) => mustGetNotice({ to: address, phases }, time, observations))
        .map(({ address }) => address);
