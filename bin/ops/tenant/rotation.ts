import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { TokenEntry } from '../../../shared/adapters/tokens/token-list.ts';
import { tokenRecord } from '../../../shared/api/account-reader.ts';
import { createSigningSecretChanges } from '../../../shared/api/notification-change.ts';
import { signersAt } from '../../../shared/domain/signing-secrets.ts';
import { addWhy, examples, parseTenant } from '../arguments.ts';
import { UsageError } from '../errors.ts';
import { formatTable, sanitize } from '../print.ts';
import { connectForChange, type Session } from '../session.ts';
import { realTime, type Timing } from '../table-scan.ts';
import { assertKnown, targetsOf } from '../targets.ts';
import { revokedText } from '../token.ts';

/**
 * How long after its revocation a token can still change data: functions cache it for up to 60 s (`tokenCacheSeconds`),
 * and a request takes up to 30 s.
 */
const TOKEN_SETTLES_MS = 90_000;

/** How a command waits and reports. */
export type AccessOptions = {
  timing: Timing;
  /** Called with each step. */
  onProgress: (text: string) => void;
};

/**
 * Revokes all tokens of a tenant, and returns them once no request with any of them can still run. The revoked tokens
 * issue no others.
 */
export const stopAccess = async (
  session: Pick<Session, 'tokens' | 'audit'>,
  tenant: string,
  { timing, onProgress }: AccessOptions,
): Promise<TokenEntry[]> => {
  const revoked = await session.tokens.revokeAll(tenant, await session.audit(tenant));
  // Only the list knows of tokens that an interrupted run revoked, and only this run has this clock.
  const lastMs = revoked.length > 0 ? timing.now() : await session.tokens.lastRevokedAtMs(tenant);
  const waitMs = lastMs + TOKEN_SETTLES_MS - timing.now();
  if (waitMs <= 0) return revoked;
  onProgress(`Revoked the tokens. Waiting ${Math.ceil(waitMs / 1000)} s until no request can use them.`);
  await timing.sleep(waitMs);
  return revoked;
};

/** A webhook, and what its receiver must accept from now on. */
export type RotatedReceiver = {
  notification_id: string;
  notification_label: string | null;
  /** Whether its requests have the token and the signature of the account. */
  uses_account: boolean;
  /** Its new own signing secret, if it has one. */
  secret: string | null;
};

/** What a rotation replaced so far. Undefined if the account has no such secret. */
export type Rotation = {
  revoked: readonly TokenEntry[];
  webhookToken?: string;
  signingSecret?: string;
  receivers: RotatedReceiver[];
};

/**
 * Replaces all secrets of a tenant that the service generates. The tokens are revoked first, so that nobody can read the
 * new secrets with one of them. Replaced signing secrets sign beside the new ones for 24 hours.
 *
 * @param rotation what is replaced, also if the rotation fails
 */
export const rotateSecrets = async (
  session: Session,
  tenant: string,
  options: AccessOptions,
  rotation: Rotation = { revoked: [], receivers: [] },
): Promise<Rotation> => {
  const { accounts, audit } = session;
  rotation.revoked = await stopAccess(session, tenant, options);
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
      uses_account: !signingSecrets || signersAt(signingSecrets, options.timing.now()).isAccountSigning,
      secret: signingSecrets?.current === undefined ? null : await changes.create({ tenant, id }, entry),
    });
  }
  return rotation;
};

/** Adds `account rotate`: replaces the secrets of a tenant that were leaked. */
export const addRotateCommand = (account: Command): void => {
  addWhy(account.command('rotate'))
    .description(
      'revoke all tokens of a tenant, then replace its webhook token, its signing secret and those of its webhooks, and print the new ones with what each receiver must accept',
    )
    .argument('<tenant>', 'the tenant', parseTenant)
    .requiredOption('--all', 'replace all of them')
    .option('--yes', 'confirm it', false)
    .addHelpText(
      'after',
      `
Waits 90 seconds after it revoked tokens, until no request can use them. Run it again after a failure, which prints what
was replaced before.
${examples('account rotate acme --all --yes --why "leaked backup" --stack MonitoringNotifications')}`,
    )
    .action(rotate);
};

const rotate = async (tenant: string, { yes }: { yes: boolean }, command: Command): Promise<void> => {
  if (!yes) {
    throw new UsageError(
      `This would revoke all tokens of tenant ${tenant} and replace its webhook secrets: confirm with --yes.`,
    );
  }
  const session = await connectForChange(command);
  await assertKnown(session, tenant);
  const rotation: Rotation = { revoked: [], receivers: [] };
  const options = { timing: realTime, onProgress: session.progress.show };
  try {
    await rotateSecrets(session, tenant, options, rotation);
  } finally {
    session.progress.clear();
    // After a failure too: nobody else can show the own signing secrets of webhooks.
    session.print(rotationJson(tenant, rotation), rotationText(tenant, rotation), nextSteps(tenant));
  }
};

const rotationJson = (tenant: string, { revoked, webhookToken, signingSecret, receivers }: Rotation) => ({
  tenant_id: tenant,
  revoked: revoked.map(tokenRecord),
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
