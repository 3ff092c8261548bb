import type { Command } from 'commander';
import { tokenRecord } from '../../shared/api/token-records.ts';
import { addWhy, examples, parseTenant } from './arguments.ts';
import { UsageError } from './errors.ts';
import { assertKnown } from './known-tenant.ts';
import { sanitize } from './print.ts';
import { connectForChange } from './session.ts';
import { formatTable } from './table.ts';
import { realTime } from './tenant/pace.ts';
import { type RotatedReceiver, type Rotation, rotateSecrets } from './tenant/rotation.ts';
import { revokedText } from './token.ts';

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
