import { Webhook } from 'standardwebhooks';
import type { WebhookVerification } from './message.ts';

/** The webhook credentials of a tenant. `replaced` contains the previous secret while it also signs. */
export type TenantCredentials = { token: string | undefined; secrets: string[]; replaced: string[] };

/** Receivers reject a timestamp that differs more from their clock (Standard Webhooks 1.0.0). */
const TOLERANCE_SECONDS = 300;

const TOKEN_HEADER = 'x-monitoring-webhook-token';

/**
 * Verifies a webhook as a receiver does (docs/api.md#webhook-headers). The problems are sentences for its developer.
 */
export const verifyWebhook = (
  request: { tenant: string; headers: Record<string, string>; body: string },
  { token, secrets, replaced }: TenantCredentials,
  nowMs: number,
): WebhookVerification => {
  const { tenant, headers } = request;
  if (secrets.length === 0) {
    const problem = `Tenant ${tenant} has no signing secret: it is unknown, or has neither sent a webhook nor read its account.`;
    return { verified: false, problems: [problem], signed_with: [] };
  }
  const signed_with = [
    ...(isSigned(request, secrets) ? (['current'] as const) : []),
    ...(isSigned(request, replaced) ? (['replaced'] as const) : []),
  ];
  const problems = [
    missingHeaders(headers) ?? timestampProblem(headers, nowMs),
    signed_with.length === 0 ? signatureProblem(headers, tenant) : undefined,
    tokenProblem(headers[TOKEN_HEADER], token, tenant),
  ].filter((problem) => problem !== undefined);
  return { verified: problems.length === 0, problems, signed_with };
};

const SIGNATURE_HEADER = 'webhook-signature';
const SIGNATURE_HEADERS = ['webhook-id', 'webhook-timestamp', SIGNATURE_HEADER];

const missingHeaders = (headers: Record<string, string>): string | undefined => {
  const missing = SIGNATURE_HEADERS.filter((name) => !headers[name]);
  if (missing.length === 0) return undefined;
  const [noun, verb] = missing.length === 1 ? ['header', 'is'] : ['headers', 'are'];
  const reason =
    missing.join() === SIGNATURE_HEADER
      ? ': a body of webhook_request is signed only with a signing secret of the notification'
      : '';
  return `The ${noun} ${missing.join(', ')} ${verb} missing${reason}.`;
};

const readTimestamp = (headers: Record<string, string>): number => {
  const text = headers['webhook-timestamp'] ?? '';
  return /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
};

const timestampProblem = (headers: Record<string, string>, nowMs: number): string | undefined => {
  const ageSeconds = Math.floor(nowMs / 1000) - readTimestamp(headers);
  if (Number.isNaN(ageSeconds)) return 'The header webhook-timestamp is not a Unix time in seconds.';
  if (Math.abs(ageSeconds) <= TOLERANCE_SECONDS) return undefined;
  const limit = `at most ${TOLERANCE_SECONDS} are allowed`;
  return ageSeconds > 0
    ? `The header webhook-timestamp is too old: ${ageSeconds} seconds; ${limit}.`
    : `The header webhook-timestamp is in the future: ${-ageSeconds} seconds; ${limit}.`;
};

const isSigned = (
  { headers, body }: { headers: Record<string, string>; body: string },
  secrets: readonly string[],
): boolean => {
  const signedAt = new Date(readTimestamp(headers) * 1000);
  const signatures = (headers['webhook-signature'] ?? '').split(' ');
  return secrets.some((secret) =>
    signatures.includes(new Webhook(secret).sign(headers['webhook-id'] ?? '', signedAt, body)),
  );
};

const signatureProblem = (headers: Record<string, string>, tenant: string): string | undefined => {
  if (missingHeaders(headers)) return undefined;
  const versions = (headers['webhook-signature'] ?? '').split(' ');
  if (!versions.some((signature) => signature.startsWith('v1,'))) {
    return 'The header webhook-signature contains no signature of version v1.';
  }
  return `No signature matches: it was made with a secret that tenant ${tenant} does not have, or the body, ID or timestamp was changed.`;
};

const tokenProblem = (received: string | undefined, token: string | undefined, tenant: string): string | undefined => {
  if (received === undefined) return `The header ${TOKEN_HEADER} is missing.`;
  return received === token ? undefined : `The header ${TOKEN_HEADER} is not the webhook token of tenant ${tenant}.`;
};
