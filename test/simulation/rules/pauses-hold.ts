import { type PauseReason, pauseReasons } from '../../../shared/contracts/email-pause.ts';
import type { Observations } from '../world/observations.ts';
import { notificationsOf } from '../world/scenario.ts';
import { noticesOf } from './notices.ts';
import type { Rule } from './rule.ts';

/** From docs/api.md: more bounces or complaints than this share of the emails, and at least this number, pause emails. */
const THRESHOLDS: Record<PauseReason, { min: number; share: number }> = {
  bounces: { min: 5, share: 0.05 },
  complaints: { min: 3, share: 0.001 },
};

/** Emails that timed out, and counts that were repeated, may double the emails that the service has counted. */
const MAX_COUNTED_TWICE = 2;

/** Senders cache accounts for a minute, and a send may take 15 s. */
const MAX_LATE_MS = 80_000;

/** Clocks differ by 2 s. */
const TOLERANCE_MS = 5_000;

const reportsOf = ({ emailReports }: Observations, name: string, reason: PauseReason, untilMs: number): number =>
  emailReports.filter(
    ({ tenant, kind, isPermanent, atMs }) =>
      tenant === name &&
      atMs <= untilMs &&
      (reason === 'complaints' ? kind === 'Complaint' : kind === 'Bounce' && isPermanent),
  ).length;

/** The emails of a tenant are paused if too many of its own bounced or were reported as spam, and only then. */
export const pausesHold: Rule = {
  name: 'pauses hold',
  violations(observations) {
    const { scenario, pauses, emails, earlierHistory, startMs, redeliveredMs } = observations;
    const notices = noticesOf(observations);
    return scenario.tenants.flatMap((tenant) => {
      const { name, fallback } = tenant;
      const own = emails.filter((email) => email.tenant === name && email.acceptedMs < redeliveredMs);
      const refused = earlierHistory.filter(
        ({ notification, reason }) =>
          reason === 'email_paused' && notificationsOf(tenant).some(({ index }) => index === notification),
      );
      const pause = pauses.get(name);
      if (!pause) {
        const missed = pauseReasons.filter((reason) => {
          const { min, share } = THRESHOLDS[reason];
          const count = reportsOf(observations, name, reason, redeliveredMs);
          return count >= min && count > MAX_COUNTED_TWICE * share * own.length;
        });
        return [
          ...missed.map((reason) => `${name} has too many ${reason}, and its emails are not paused.`),
          ...refused.map(({ event_id }) => `${event_id} failed, although the emails of ${name} are not paused.`),
        ];
      }
      const sinceMs = pause.since_ms - startMs;
      const { min, share } = THRESHOLDS[pause.reason];
      const count = reportsOf(observations, name, pause.reason, sinceMs + TOLERANCE_MS);
      const sent = own.filter(({ acceptedMs }) => acceptedMs < sinceMs - TOLERANCE_MS).length;
      const isJustified = count >= min && count > share * sent;
      const told = notices.filter(({ kind, arrival }) => kind === 'paused' && arrival.atMs < redeliveredMs);
      const mustKnow = [`tenant ${name}`, ...(fallback && fallback.type !== 'email' ? [fallback.key] : [])];
      return [
        ...(isJustified ? [] : [`${name} is paused for ${count} ${pause.reason} of its ${sent} emails.`]),
        ...own
          .filter(({ acceptedMs }) => acceptedMs > sinceMs + MAX_LATE_MS)
          .map(({ to, acceptedMs }) => `${to} of ${name} got an email at ${acceptedMs}, paused since ${sinceMs}.`),
        ...refused
          .filter(({ updated_at }) => updated_at < pause.since_ms - TOLERANCE_MS)
          .map(({ event_id }) => `${event_id} of ${name} failed before the pause.`),
        ...mustKnow
          .filter((to) => !told.some(({ arrival }) => arrival.to === to))
          .map((to) => `${to} was not told of the pause of ${name}.`),
      ];
    });
  },
};
