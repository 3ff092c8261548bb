import { randomBytes } from 'node:crypto';
import type { TokenEntry } from '../../../shared/adapters/tokens/token-list.ts';
import { createSigningSecretChanges } from '../../../shared/api/signing-secret.ts';
import { signersAt } from '../../../shared/domain/signing-secrets.ts';
import type { Session } from '../session.ts';
import { targetsOf } from '../targets.ts';
import { type AccessOptions, stopAccess } from './stop-access.ts';

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
