import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { createAuditReader } from '../../../shared/adapters/audits/audit-log.ts';
import type { TokenEntry } from '../../../shared/adapters/tokens/token-repository.ts';
import { tokenRecord } from '../../../shared/api/account-reader.ts';
import { createSigningSecretChanges } from '../../../shared/api/notification-change.ts';
import { MAX_TIME_MS } from '../../../shared/contracts/collection.ts';
import { auditRecord } from '../../../shared/domain/audit.ts';
import { signersAt } from '../../../shared/domain/signing-secrets.ts';
import { DAY_MS } from '../../../shared/domain/time.ts';
import { addWhy, examples, parseSince, parseTenant } from '../arguments.ts';
import { OperationError, UsageError } from '../errors.ts';
import { formatTable, sanitize, toSecond } from '../print.ts';
import { connectForChange, type Session } from '../session.ts';
import { realTime, type Timing } from '../table-scan.ts';
import { assertKnown, labelCell, targetsOf } from '../targets.ts';
import { revokedText } from '../token.ts';

/** Functions cache a token for up to 60 s (`tokenCacheSeconds`), and a request takes up to 30 s. */
const TOKEN_SETTLES_MS = 90_000;

/** Revokes all tokens of a tenant, and returns them once no request with any of them can still run. */
export const stopAccess = async (
  session: Pick<Session, 'tokens' | 'audit' | 'progress'>,
  tenant: string,
  timing: Timing = realTime,
): Promise<TokenEntry[]> => {
  const revoked = await session.tokens.revokeAll(tenant, await session.audit(tenant));
  // Only the list knows of tokens that an interrupted run revoked, and only this run has this clock.
  const lastMs = revoked.length > 0 ? timing.now() : await session.tokens.lastRevokedAtMs(tenant);
  const waitMs = lastMs + TOKEN_SETTLES_MS - timing.now();
  if (waitMs <= 0) return revoked;
  session.progress.show(`Revoked the tokens. Waiting ${Math.ceil(waitMs / 1000)} s until no request can use them.`);
  await timing.sleep(waitMs);
  session.progress.clear();
  return revoked;
};

/** A webhook, and what its receiver must accept from now on. */
export type RotatedReceiver = {
  notification_id: string;
  notification_label: string | null;
  /** Whether its requests have the token and the signature of the account. */
  uses_account: boolean;
  secret: string | null;
};

/** What a rotation replaced so far. Undefined if the account has no such secret. */
export type Rotation = {
  revoked: readonly TokenEntry[];
  /** Because of which nothing was replaced. */
  suspects: readonly SuspectNotification[];
  webhookToken?: string;
  signingSecret?: string;
  receivers: RotatedReceiver[];
};

/** A notification that a token created or changed, so that it may send secrets to whoever had the token. */
export type SuspectNotification = {
  notification_id: string;
  notification_label: string | null;
  changed: string[];
  /** The time of the newest change, ms since the epoch. */
  changed_at: number;
  actor: string;
};

/** The attributes that decide where the secrets of an account are sent. */
const DESTINATION_ATTRIBUTES = ['type', 'details', 'webhook_request'];

/** Returns the notifications that exist and that, by the audit, a token created or sent elsewhere since a time. */
const suspectsOf = async (session: Session, tenant: string, sinceMs: number): Promise<SuspectNotification[]> => {
  const { documents, deployment } = session;
  const reader = createAuditReader(documents, deployment.outputs.AuditsTable);
  const range = { fromMs: sinceMs, toMs: MAX_TIME_MS, isReverse: false };
  const found = new Map<string, Omit<SuspectNotification, 'notification_id' | 'notification_label'>>();
  for await (const entry of reader.list(tenant, { ...range, start: null, pageSize: 100 })) {
    const { action, target_id, changed, actor, timestamp } = auditRecord(entry);
    const isCreation = action === 'create-notification';
    const sent = changed.filter((name) => DESTINATION_ATTRIBUTES.includes(name));
    const isSuspect = actor.type === 'token' && (isCreation || (action === 'update-notification' && sent.length > 0));
    if (!isSuspect || target_id === null) continue;
    const all = new Set([...(found.get(target_id)?.changed ?? []), ...(isCreation ? ['created'] : sent)]);
    found.set(target_id, { changed: [...all], changed_at: timestamp, actor: `${actor.label} (${actor.id})` });
  }
  const existing = await Array.fromAsync(targetsOf(session, tenant));
  return existing.flatMap(({ id, label = null }) => {
    const suspect = found.get(id);
    return suspect ? [{ notification_id: id, notification_label: label, ...suspect }] : [];
  });
};

/** What may stay as tokens created or changed it since a time. */
export type RotationCheck = { sinceMs: number; kept: readonly string[] | 'all' };

/**
 * Replaces all secrets of a tenant that the service generates. The tokens are revoked first, so that nobody can read the
 * new secrets with one of them. Replaced signing secrets sign beside the new ones for 24 hours.
 *
 * @param rotation what is replaced, also if the rotation fails
 * @param check with it, nothing is replaced while a token's change since then is neither undone nor kept
 */
export const rotateSecrets = async (
  session: Session,
  tenant: string,
  rotation: Rotation,
  check?: RotationCheck,
  timing: Timing = realTime,
): Promise<Rotation> => {
  const { accounts, audit } = session;
  rotation.revoked = await stopAccess(session, tenant, timing);
  if (check && check.kept !== 'all') {
    const { sinceMs, kept } = check;
    const suspects = await suspectsOf(session, tenant, sinceMs);
    rotation.suspects = suspects.filter(({ notification_id: id }) => !kept.includes(id));
    if (rotation.suspects.length > 0) return rotation;
  }
  const entry = await audit(tenant);
  const { token, secrets } = await accounts.describe(tenant);
  if (token !== undefined) {
    const webhook_token = randomBytes(32).toString('base64url');
    await accounts.update(tenant, { webhook_token }, entry);
    rotation.webhookToken = webhook_token;
  }
  if (secrets.length > 0) rotation.signingSecret = await accounts.rotateSecret(tenant, entry);
  const changes = createSigningSecretChanges(session.notifications);
  for await (const { id, type, label = null, signingSecrets } of targetsOf(session, tenant)) {
    if (type !== 'webhook') continue;
    rotation.receivers.push({
      notification_id: id,
      notification_label: label,
      uses_account: !signingSecrets || signersAt(signingSecrets, timing.now()).isAccountSigning,
      secret: signingSecrets?.current === undefined ? null : await changes.create({ tenant, id }, entry),
    });
  }
  return rotation;
};

export const addRotateCommand = (account: Command): void => {
  addWhy(account.command('rotate'))
    .description(
      'revoke all tokens of a tenant, then replace its webhook token, its signing secret and those of its webhooks, and print the new ones with what each receiver must accept',
    )
    .argument('<tenant>', 'the tenant', parseTenant)
    .option(
      '--since <time>',
      'replace nothing while a notification exists that a token created or sent elsewhere since a time, such as 2026-11-22T09:00Z, or a duration, such as 24h',
      parseSince,
    )
    .option('--keep <ids...>', 'notifications that may stay as they are, or all', [])
    .option('--yes', 'confirm it', false)
    .addHelpText(
      'after',
      `
Waits 90 seconds after it revoked tokens, until no request can use them. Run it again after a failure, which prints what
was replaced before.
${examples(
  'account rotate acme --since 24h --yes --why "leaked backup" --stack MonitoringNotifications',
  'account rotate acme --since 24h --keep nt01M7W08F9Z4XGJJRVYEZQFE9R1 --yes --stack MonitoringNotifications',
)}`,
    )
    .action(rotate);
};

type RotateOptions = { since?: number; keep: string[]; yes: boolean };

const rotate = async (tenant: string, { since, keep, yes }: RotateOptions, command: Command): Promise<void> => {
  if (!yes) {
    throw new UsageError(
      `This would revoke all tokens of tenant ${tenant} and replace its webhook secrets: confirm with --yes.`,
    );
  }
  const session = await connectForChange(command);
  await assertKnown(session, tenant);
  const retentionDays = session.deployment.outputs.AuditRetentionDays;
  if (since !== undefined && since < Date.now() - retentionDays * DAY_MS)
    throw new OperationError(`The audit is kept for ${retentionDays} days: pass a later --since, or none.`);
  const rotation: Rotation = { revoked: [], suspects: [], receivers: [] };
  const kept = keep.includes('all') ? 'all' : keep;
  try {
    await rotateSecrets(session, tenant, rotation, since === undefined ? undefined : { sinceMs: since, kept });
  } finally {
    const isRefused = rotation.suspects.length > 0;
    if (isRefused) process.exitCode = 1;
    // After a failure too: nobody else can show the own signing secrets of webhooks.
    session.print(
      rotationJson(tenant, rotation),
      isRefused ? suspectText(tenant, rotation) : rotationText(tenant, rotation),
      isRefused ? undo(tenant) : nextSteps(tenant),
    );
  }
};

const suspectText = (tenant: string, { revoked, suspects }: Rotation): string =>
  [
    revokedText(tenant, revoked),
    '',
    formatTable(suspects, [
      ['notification', ({ notification_id }) => notification_id],
      ['label', ({ notification_label }) => labelCell(notification_label)],
      ['by tokens', ({ changed }) => changed.join(', ')],
      ['last', ({ changed_at }) => toSecond(changed_at)],
      ['by', ({ actor }) => sanitize(actor)],
    ]),
  ].join('\n');

const undo = (tenant: string): string =>
  `Nothing was replaced: whoever had a token may receive the new secrets. Next:
1. Give the tenant a token: "token create --tenant ${tenant} --role admin --label …". It deletes or corrects these notifications.
2. Repeat the command with --keep and the IDs of those that are right, or --keep all.`;

const rotationJson = (tenant: string, { revoked, suspects, webhookToken, signingSecret, receivers }: Rotation) => ({
  tenant_id: tenant,
  revoked: revoked.map(tokenRecord),
  changed_by_tokens: suspects,
  webhook_token: webhookToken ?? null,
  webhook_signing_secret: signingSecret ?? null,
  receivers,
});

/** Returns what is new, and what the receiver of each webhook must accept. */
export const rotationText = (tenant: string, { revoked, webhookToken, signingSecret, receivers }: Rotation): string => {
  const ofAccount = [
    ...(webhookToken === undefined ? [] : ['webhook token']),
    ...(signingSecret === undefined ? [] : ['signing secret']),
  ].join(' and ');
  const accepted = ({ uses_account, secret }: RotatedReceiver) =>
    [...(uses_account && ofAccount ? [`${ofAccount} of the account`] : []), ...(secret ? [secret] : [])].join(', ');
  return [
    revokedText(tenant, revoked),
    ...(webhookToken === undefined ? [] : [`New webhook token of the account: ${webhookToken}`]),
    ...(signingSecret === undefined ? [] : [`New signing secret of the account: ${signingSecret}`]),
    ...(receivers.length === 0
      ? []
      : [
          '',
          formatTable(receivers, [
            ['receiver of', ({ notification_id }) => notification_id],
            ['label', ({ notification_label }) => sanitize(notification_label ?? '–')],
            ['must accept the new', (receiver) => accepted(receiver) || '–'],
          ]),
        ]),
  ].join('\n');
};

const nextSteps = (tenant: string): string =>
  `Next: 1. Give the tenant a token: "token create --tenant ${tenant} --role admin --label …".
2. Each receiver accepts the new values. Until then, one that checks the token rejects alerts, which are retried.
3. After a minute, it no longer accepts the old ones. Their signatures end in 24 hours.
4. Replace the keys in URLs and headers at their receivers, then in the notifications.`;
