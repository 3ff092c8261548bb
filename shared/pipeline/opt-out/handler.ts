import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { OptOutKeys } from '../../adapters/accounts/opt-out-keys.ts';
import type { OptOuts } from '../../adapters/accounts/opt-outs.ts';
import type { AuditLog } from '../../adapters/audits/audit-log.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { optOutPaths } from '../../contracts/endpoints.ts';
import { isOptOutQuery, type OptOutPurpose, parseOptOutQuery, type Recipient } from '../../domain/opt-out.ts';
import type { SendLastEmail } from './last-email.ts';
import {
  askPage,
  donePage,
  invalidPage,
  isConfirmed,
  notSentPage,
  type PageResponse,
  unavailablePage,
  unconfirmedPage,
} from './page.ts';

/** What the page uses. */
export type OptOutDependencies = {
  optOutKeys: Pick<OptOutKeys, 'all'>;
  optOuts: Pick<OptOuts, 'optOut' | 'undo' | 'claimLastEmail' | 'releaseLastEmail'>;
  audits: Pick<AuditLog, 'by'>;
  sendLastEmail: SendLastEmail;
};

/**
 * Creates the handler of the page on which recipients stop the emails of a tenant, and undo that
 * (docs/decisions/opt-out.md). GET has no effect, because mail services open links before their recipients do. The first
 * POST stops the emails, before the last email is sent; further ones change nothing.
 */
export const createOptOutHandler = ({ optOutKeys, optOuts, audits, sendLastEmail }: OptOutDependencies) => {
  /** Neither the address of the client nor that of the recipient becomes known to the tenant. */
  const auditOf = ({ tenant }: Recipient, requestId: string) =>
    audits.by({ tenant, context: { actor: { type: 'recipient' }, request_id: requestId } });

  const stop = async (recipient: Recipient, requestId: string): Promise<PageResponse> => {
    await optOuts.optOut(recipient, auditOf(recipient, requestId));
    if (!(await optOuts.claimLastEmail(recipient))) return donePage('opt-out', recipient.tenant);
    const lastEmail = await sendLastEmail(recipient);
    if (lastEmail !== 'sent') logger.warn('last email not sent', { request_id: requestId, result: lastEmail });
    if (lastEmail !== 'not_sent') return donePage('opt-out', recipient.tenant);
    await optOuts.releaseLastEmail(recipient);
    return notSentPage(recipient.tenant);
  };

  const answer = async ({
    rawQueryString,
    routeKey,
    requestContext: { requestId },
    body = '',
    isBase64Encoded,
  }: APIGatewayProxyEventV2): Promise<PageResponse> => {
    const [method, path] = routeKey.split(' ');
    const purpose: OptOutPurpose = path === optOutPaths.undo ? 'undo' : 'opt-out';
    if (!isOptOutQuery(rawQueryString)) return invalidPage;
    const recipient = parseOptOutQuery(await optOutKeys.all(), purpose, rawQueryString);
    if (!recipient) return invalidPage;
    if (method !== 'POST') return askPage(purpose, recipient.tenant);
    if (!isConfirmed(purpose, body, isBase64Encoded)) return unconfirmedPage;
    if (purpose === 'opt-out') return stop(recipient, requestId);
    await optOuts.undo(recipient, auditOf(recipient, requestId));
    return donePage('undo', recipient.tenant);
  };

  return (request: APIGatewayProxyEventV2): Promise<PageResponse> =>
    answer(request).catch((error: unknown) => {
      logger.error('request failed', { request_id: request.requestContext.requestId, ...errorTrace(error) });
      return unavailablePage;
    });
};
